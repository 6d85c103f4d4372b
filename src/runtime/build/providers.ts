import type { Supervisor } from '../../children/supervisor.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { acpProvider } from '../../providers/acp/provider.ts';
import { claudeProvider } from '../../providers/claude/provider.ts';
import { codexProvider } from '../../providers/codex/provider.ts';
import type { AgentTools, Provider } from '../../providers/provider.ts';
import { ProviderRegistry } from '../../providers/registry.ts';
import type { Base } from '../base.ts';
import type { Children } from './children.ts';

/** What providers call of a noun that is built later. */
interface ProviderHooks {
  /** How the agent of a session reaches the tools. */
  toolsFor: (sessionId: string) => AgentTools;
}

/** What a provider stands on. */
interface ProviderNeeds extends ProviderHooks {
  supervisor: Supervisor;
  clock: Clock;
}

export type Providers = ReturnType<typeof buildProviders>;

/** The providers: those that are configured, unless others are to take their place. */
export function buildProviders(
  { config, clock }: Base,
  { supervisor }: Children,
  others?: readonly Provider[],
) {
  const hooks = {} as ProviderHooks;
  const needs = { supervisor, clock, toolsFor: (sessionId: string) => hooks.toolsFor(sessionId) };
  const registry = new ProviderRegistry(others ?? configuredProviders(config.now, needs));
  return { registry, hooks };
}

/** Each provider there is, as it is configured. */
export function configuredProviders(
  { providers: { acp, claude, codex } }: Config,
  needs: ProviderNeeds,
): Provider[] {
  return [
    acpProvider({
      settings: {
        enabled: acp?.enabled ?? false,
        configured: acp !== undefined && acp !== null,
        command: acp?.command ?? null,
        args: acp?.args ?? [],
        env: acp?.env ?? {},
        transport: acp?.transport ?? 'stdio',
        requestTimeoutMs: acp?.request_timeout_ms ?? 0,
      },
      ...needs,
    }),
    claudeProvider({ settings: claude, ...needs }),
    codexProvider({ settings: codex, ...needs }),
  ];
}
