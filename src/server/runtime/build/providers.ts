import { configuredProviders } from '../../../agents/configured.ts';
import type { AgentTools, Provider } from '../../../agents/provider.ts';
import { ProviderRegistry } from '../../../agents/registry.ts';
import type { Base } from '../base.ts';
import type { Children } from './children.ts';

/** The functions of later nouns that providers call. */
interface ProviderHooks {
  /** Returns how the agent of a session reaches the tools. */
  toolsFor: (sessionId: string) => AgentTools;
}

export type Providers = ReturnType<typeof buildProviders>;

/** Builds the providers: the configured ones, unless a test passes others. */
export function buildProviders(
  { config, clock }: Base,
  { supervisor }: Children,
  others?: readonly Provider[],
) {
  const hooks = {} as ProviderHooks;
  const context = { supervisor, clock, toolsFor: (sessionId: string) => hooks.toolsFor(sessionId) };
  const registry = new ProviderRegistry(
    others ?? configuredProviders(config.now, context),
    () => config.now.defaults.provider,
  );
  return { registry, hooks };
}
