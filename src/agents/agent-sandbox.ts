import type { Session } from '../api/sessions.ts';
import type { SandboxedAgent } from '../core/children/sandbox/requests.ts';
import { findProgram } from '../core/lib/find-program.ts';
import type { BarrierSandbox } from '../core/children/spawn-barrier.ts';

/** The files of an agent that its sandbox shows, and its keys in the configuration. */
export type AgentFiles = Omit<SandboxedAgent, 'root' | 'own' | 'isReadOnly' | 'chosen'>;

/** Returns the programs that the sandbox of an agent shows. */
export function programsOf(
  command: string | null,
  args: readonly string[],
  searchPath: string | undefined,
): string[] {
  const program = command === null ? null : findProgram(command, searchPath);
  return [...(program === null ? [] : [program]), ...args];
}

/** The keys of the configuration for the sandbox of one agent. Null: none. */
export type AgentSandboxKeys = SandboxedAgent['more'];

/** A session, or the directory of a session of which only the agent knows. */
export type SandboxedSession = Pick<Session, 'cwd' | 'permission_mode' | 'sandbox'> & {
  id: string | null;
};

/** Resolves with the sandbox of the agent of a session; null: none. Throws ProviderError. */
export type SandboxFor = (
  session: SandboxedSession,
  files: AgentFiles,
) => Promise<BarrierSandbox | null>;
