import { configuredProviders } from '../../../agents/configured.ts';
import type { AgentTools } from '../../../agents/provider.ts';
import { ProviderRegistry } from '../../../agents/registry.ts';
import type { Base } from '../base.ts';
import type { RuntimeOptions } from '../options.ts';
import type { Children } from './children.ts';

export type Providers = ReturnType<typeof buildProviders>;

/** Builds the providers: the configured ones, unless a test passes others. */
export function buildProviders(
  { config, clock }: Base,
  { supervisor }: Children,
  { providers: others, asksLogins = true }: Pick<RuntimeOptions, 'providers' | 'asksLogins'> = {},
) {
  let tools: (sessionId: string) => AgentTools = () => {
    throw new Error('the tools of agents are not built yet');
  };
  const toolsFor = (sessionId: string) => tools(sessionId);
  const context = { supervisor, clock, toolsFor, asksLogins };
  const registry = new ProviderRegistry(
    others ?? configuredProviders(config.now, context),
    () => config.now.defaults.provider,
  );
  /** Sets how the agent of a session reaches the tools, which are built after all nouns that they call. */
  const connectTools = (built: typeof tools) => (tools = built);
  return { registry, connectTools };
}
