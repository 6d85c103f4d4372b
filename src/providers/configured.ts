import type { ProviderId } from '../api/provider-kinds.ts';
import type { ProviderRecord } from '../api/providers.ts';
import type { Supervisor } from '../children/supervisor.ts';
import type { Config } from '../config/schema.ts';
import { systemClock } from '../lib/clock.ts';
import { AcpProvider } from './acp/provider.ts';
import { ClaudeProvider } from './claude/provider.ts';
import { CodexProvider } from './codex/provider.ts';
import type { Provider, ProviderContext } from './provider.ts';
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
  const supervisor = { start: () => Promise.reject(new Error('no server')) };
  const context = {
    supervisor: supervisor as unknown as Supervisor,
    clock: systemClock,
    toolsFor: () => {
      throw new Error('no server');
    },
  };
  return new ProviderRegistry(
    configuredProviders(config, context),
    () => config.defaults.provider,
  ).list();
}
