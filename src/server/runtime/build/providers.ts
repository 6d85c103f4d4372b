import os from 'node:os';
import { configuredProviders } from '../../../agents/configured.ts';
import { AppError } from '../../../api/errors.ts';
import type { SandboxFor } from '../../../agents/agent-sandbox.ts';
import { type AgentTools, ProviderError } from '../../../agents/provider.ts';
import { withHome } from '../../../core/config/sandbox-section.ts';
import { selfCommand } from '../../../core/lib/self.ts';
import { ProviderRegistry } from '../../../agents/registry.ts';
import type { Session } from '../../../api/sessions.ts';
import type { Base, RuntimeOptions } from '../base.ts';
import type { Children } from './children.ts';

export type Providers = ReturnType<typeof buildProviders>;

/** Builds the providers: the configured ones, unless a test passes others. */
export function buildProviders(
  { config, clock }: Base,
  { supervisor, sandbox }: Children,
  { providers: others, asksLogins = true }: Pick<RuntimeOptions, 'providers' | 'asksLogins'> = {},
) {
  let tools: (sessionId: string) => AgentTools = () => {
    throw new Error('the tools of agents are not built yet');
  };
  const toolsFor = (sessionId: string) => tools(sessionId);
  const sandboxFor = agentSandboxes(sandbox);
  const context = { supervisor, clock, toolsFor, asksLogins, sandboxFor };
  const registry = new ProviderRegistry(
    others ?? configuredProviders(config.now, context),
    () => config.now.defaults.provider,
  );
  /** Sets how the agent of a session reaches the tools, which are built after all components that they call. */
  const connectTools = (built: typeof tools) => (tools = built);
  return { registry, connectTools };
}

/** Whether the agent of a session must not write the directory of the session. */
export function isReadOnly({ permission_mode }: Pick<Session, 'permission_mode'>): boolean {
  return permission_mode === 'read_only';
}

/** Returns the function that plans the sandbox of the agent of a session. It also shows the sidecar of the tools. */
function agentSandboxes(sandbox: Children['sandbox']): SandboxFor {
  return async (session, files) => {
    if (!sandbox.holdsAgent(session.sandbox)) return null;
    const { file, args } = selfCommand();
    try {
      return await sandbox.planForAgent({
        ...files,
        more: files.more && withHome(files.more, os.homedir()),
        programs: [...files.programs, file, ...args],
        root: session.cwd,
        own: sandbox.privateDirectories({ session_id: session.id, caller_id: null }),
        isReadOnly: isReadOnly(session),
        chosen: session.sandbox,
      });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      throw new ProviderError('provider_unavailable', error.message, { cause: error });
    }
  };
}
