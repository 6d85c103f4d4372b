import { DEFAULT_AGENT, type ProviderId } from '../api/provider-kinds.ts';
import type { AgentRecord, ProviderRecord } from '../api/providers.ts';
import { type Defaults, preferredProvider } from './defaults.ts';

export interface AgentChoice {
  /** The name of the agent, or of its provider if it has none. */
  label: string;
  provider: ProviderId;
  /** Null where the provider has one agent, without a name. */
  agent: string | null;
  /** The modes of its own that it last offered. */
  modes: readonly string[];
  /** The names of its modes, by the mode; a mode without a name of its own is left out. */
  modeNames: Readonly<Record<string, string>>;
}

/** The agents that are enabled: the preferred one first, then those that are ready. */
export function agentChoices(
  providers: readonly ProviderRecord[],
  defaults: Defaults,
): AgentChoice[] {
  const preferred = preferredProvider(providers, defaults);
  const ranked = providers.flatMap((provider) =>
    choicesOf(provider).map(({ isReady, isDefault, ...choice }) => {
      const isChosen = defaults.agent === null ? isDefault : choice.agent === defaults.agent;
      const isFirst = provider.id === preferred && (choice.agent === null || isChosen);
      return { choice, rank: isFirst ? 0 : isReady ? 1 : 2 };
    }),
  );
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ choice }) => choice);
}

function choicesOf({ id, enabled, healthy, agents }: ProviderRecord) {
  if (agents.length === 0)
    return enabled
      ? [
          {
            label: id,
            provider: id,
            agent: null,
            modes: [],
            modeNames: {},
            isReady: healthy,
            isDefault: true,
          },
        ]
      : [];
  // The provider refuses agents that it has turned off, or without their program.
  const mayWork = ({ healthy, auth }: AgentRecord) => healthy || auth.authenticated === false;
  return agents
    .filter((agent) => mayWork(agent) || (enabled && agent.configured))
    .map((agent) => ({
      label: agent.name === DEFAULT_AGENT ? id : agent.name,
      provider: id,
      agent: agent.name,
      modes: agent.modes,
      modeNames: agent.mode_names ?? {},
      isReady: agent.healthy,
      isDefault: agent.default,
    }));
}
