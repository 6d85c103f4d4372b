import { configuredProviders } from '../../providers/configured.ts';
import type { AgentTools, Provider } from '../../providers/provider.ts';
import { ProviderRegistry } from '../../providers/registry.ts';
import type { Base } from '../base.ts';
import type { Children } from './children.ts';

/** What providers call of a noun that is built later. */
interface ProviderHooks {
  /** How the agent of a session reaches the tools. */
  toolsFor: (sessionId: string) => AgentTools;
}

export type Providers = ReturnType<typeof buildProviders>;

/** The providers: the configured ones, unless a test hands in others. */
export function buildProviders(
  { config, clock }: Base,
  { supervisor }: Children,
  others?: readonly Provider[],
) {
  const hooks = {} as ProviderHooks;
  const context = { supervisor, clock, toolsFor: (sessionId: string) => hooks.toolsFor(sessionId) };
  const registry = new ProviderRegistry(others ?? configuredProviders(config.now, context));
  return { registry, hooks };
}
