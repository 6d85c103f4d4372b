import type { ProviderId } from '../api/provider-kinds.ts';
import type { ProviderRecord } from '../api/providers.ts';

/** What a new session gets where nobody says otherwise: `[defaults]` of the configuration. */
export interface Defaults {
  /** The provider that a variable names, and the one that the file names; model and effort are those of that one. */
  provider: { byVariable: ProviderId | null; byFile: ProviderId | null };
  model: string | null;
  effort: string | null;
  permission_mode: string | null;
}

export const noDefaults: Defaults = {
  provider: { byVariable: null, byFile: null },
  model: null,
  effort: null,
  permission_mode: null,
};

/**
 * The provider of a new session: that of the variable, else the one that the server prefers, else that of the file, else
 * the only one that is ready; null where there is no such one.
 */
export function preferredProvider(
  providers: readonly ProviderRecord[],
  { provider: { byVariable, byFile } }: Defaults,
): ProviderId | null {
  const preferred = byVariable ?? providers.find((one) => one.default)?.id ?? byFile;
  if (preferred) return preferred;
  const [only, ...others] = readyOnes(providers);
  return only && others.length === 0 ? only.id : null;
}

export function readyOnes(providers: readonly ProviderRecord[]): ProviderRecord[] {
  return providers.filter(({ enabled, healthy }) => enabled && healthy);
}

/** The settings of a new session of a provider. Others than the default's own get no model, whose names differ. */
export function settingsFor(
  provider: ProviderId,
  { provider: { byVariable, byFile }, model, effort, permission_mode }: Defaults,
): { model: string | null; thinking_effort: string | null; permission_mode: string | null } {
  const theirs = byVariable ?? byFile;
  const isTheirs = theirs === null || theirs === provider;
  return {
    model: isTheirs ? model : null,
    thinking_effort: isTheirs ? effort : null,
    permission_mode,
  };
}
