import { configuredProviders } from '../../../agents/configured.ts';
import type { AgentTools } from '../../../agents/provider.ts';
import { ProviderRegistry } from '../../../agents/registry.ts';
import type { Base } from '../base.ts';
import type { RuntimeOptions } from '../options.ts';
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
  { providers: others, asksLogins = true }: Pick<RuntimeOptions, 'providers' | 'asksLogins'> = {},
) {
  const hooks = {} as ProviderHooks;
  const toolsFor = (sessionId: string) => hooks.toolsFor(sessionId);
  const context = { supervisor, clock, toolsFor, asksLogins };
  const registry = new ProviderRegistry(
    others ?? configuredProviders(config.now, context),
    () => config.now.defaults.provider,
  );
  return { registry, hooks };
}
