import { agentProvider, type ProviderId } from '../api/provider-kinds.ts';
import type { ProviderRecord } from '../api/providers.ts';

/** The settings of a new session, unless they are given: `[defaults]` of the configuration. */
export interface Defaults {
  /** The provider in a variable, and the provider in the file. Model and effort apply to that provider. */
  provider: { byVariable: ProviderId | null; byFile: ProviderId | null };
  /** The agent of sessions of the provider whose agents have names. */
  agent: string | null;
  model: string | null;
  effort: string | null;
  permission_mode: string | null;
  /** The permission mode where a person can be asked and `permission_mode` is null. */
  person_mode: string;
}

export const noDefaults: Defaults = {
  provider: { byVariable: null, byFile: null },
  agent: null,
  model: null,
  effort: null,
  permission_mode: null,
  person_mode: 'require_approval',
};

/**
 * The provider of a new session. The order is: the variable, the preference of the server, the file, the default agent,
 * the only ready provider. Null if all of these are missing.
 */
export function preferredProvider(
  providers: readonly ProviderRecord[],
  { provider: { byVariable, byFile }, agent }: Defaults,
): ProviderId | null {
  const preferred = byVariable ?? providers.find((one) => one.default)?.id ?? byFile;
  if (preferred) return preferred;
  if (agent !== null) return agentProvider;
  const [only, ...others] = readyOnes(providers);
  return only && others.length === 0 ? only.id : null;
}

/** Returns the providers that can be used now: those without a login only if no other is ready. */
export function readyOnes(providers: readonly ProviderRecord[]): ProviderRecord[] {
  const ready = providers.filter(({ enabled, healthy }) => enabled && healthy);
  const usable = ready.filter(({ logged_in }) => logged_in !== false);
  return usable.length > 0 ? usable : ready;
}

/**
 * The settings of a new session of a provider, and of one of its agents where `asked` names one. Others than the default
 * ones get no model, whose names differ.
 */
export function settingsFor(
  provider: ProviderId,
  { provider: { byVariable, byFile }, agent, model, effort, permission_mode }: Defaults,
  asked: string | null = null,
): {
  agent: string | null;
  model: string | null;
  thinking_effort: string | null;
  permission_mode: string | null;
} {
  const theirs = byVariable ?? byFile ?? (agent === null ? null : agentProvider);
  const isTheirs = (theirs === null || theirs === provider) && (asked === null || asked === agent);
  return {
    agent: asked ?? (provider === agentProvider ? agent : null),
    model: isTheirs ? model : null,
    thinking_effort: isTheirs ? effort : null,
    permission_mode,
  };
}
