import { handoffNameOf } from '../api/after-limit.ts';
import type { ProviderId } from '../api/provider-kinds.ts';
import type { ProviderRecord } from '../api/providers.ts';
import type { Supervisor } from '../core/children/supervisor.ts';
import type { Config } from '../core/config/schema.ts';
import { systemClock } from '../core/lib/clock.ts';
import { AcpProvider } from './acp/provider.ts';
import { ClaudeProvider } from './claude/provider.ts';
import { CodexProvider } from './codex/provider.ts';
import { agentKindOf, type Provider, type ProviderContext } from './provider.ts';
import { ProviderRegistry } from './registry.ts';

/** The providers as a server with this configuration has them, in the order in which they are listed; none is started. */
export function configuredProviders({ providers }: Config, context: ProviderContext): Provider[] {
  const built: Record<ProviderId, Provider> = {
    acp: new AcpProvider(providers.acp, context),
    claude: new ClaudeProvider(providers.claude, context),
    codex: new CodexProvider(providers.codex, context),
  };
  return Object.values(built);
}

/** The providers as a server with this configuration would show them, where none runs. */
export function describeProviders(config: Config): ProviderRecord[] {
  return new ProviderRegistry(
    configuredProviders(config, withoutServer()),
    () => config.defaults.provider,
  ).list();
}

/**
 * Returns the problems of agent names in a configuration, a text for each. A server starts anyway, and refuses the
 * sessions with such an agent, or does not hand sessions over to it.
 */
export function unknownAgents(config: Config): string[] {
  const providers = configuredProviders(config, withoutServer());
  const names = providers.flatMap(({ kinds }) => kinds?.names ?? []);
  const next = handoffNameOf(config.sessions.after_limit);
  const named: [key: string, name: string | null | undefined][] = [
    ['providers.acp.default_agent', config.providers.acp?.default_agent],
    ['defaults.agent', config.defaults.agent],
    ...config.teams.model_presets.map(({ agent }, at): [string, string | null] => [
      `teams.model_presets[${at}].agent`,
      agent,
    ]),
  ];
  return [
    ...named.flatMap(([key, name]) =>
      name === null || name === undefined || names.includes(name)
        ? []
        : [`${key}: unknown agent "${name}": choose from ${names.join(', ')}`],
    ),
    ...(next === null ? [] : unusableHandoff(next, providers)),
  ];
}

/** Returns why no session can be handed over to the agent of a name, as a list of at most one text. */
function unusableHandoff(name: string, providers: readonly Provider[]): string[] {
  const key = 'sessions.after_limit';
  const provider = providers.find(({ id }) => id === name);
  const kinds = providers.flatMap((one) => one.kinds ?? []);
  const kind = provider
    ? agentKindOf(provider, null)
    : kinds.find((one) => one.find(name))?.find(name);
  if (!kind) {
    const known = [...providers.map(({ id }) => id), ...kinds.flatMap(({ names }) => names)];
    return [`${key}: unknown agent "${name}": choose from ${known.join(', ')}`];
  }
  const problem = kind.problem();
  return problem === null ? [] : [`${key}: ${name}: ${problem}`];
}

function withoutServer(): ProviderContext {
  const supervisor = { start: () => Promise.reject(new Error('no server')) };
  return {
    supervisor: supervisor as unknown as Supervisor,
    clock: systemClock,
    toolsFor: () => {
      throw new Error('no server');
    },
  };
}
