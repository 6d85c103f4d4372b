import type { Session } from '../../api/sessions.ts';
import type { Supervisor } from '../../children/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import { findProgram } from '../../lib/find-program.ts';
import { agentEnvironment } from '../environment.ts';
import type { Agent, AgentSink, Provider } from '../provider.ts';
import { openAcpAgent } from './agent.ts';

/** How the agent is configured; `[providers.acp]`. */
export interface AcpSettings {
  enabled: boolean;
  command: string | null;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  transport: string;
  /** How long an agent may take to answer anything but a prompt. */
  requestTimeoutMs: number;
}

/** Any agent that speaks the Agent Client Protocol, one process a session. */
export function acpProvider(given: {
  settings: AcpSettings;
  supervisor: Supervisor;
  clock: Clock;
}): Provider {
  const { settings } = given;
  const stats = { unknown_messages: 0, last_error: null as string | null };
  return {
    id: 'acp',
    displayName: 'Agent Client Protocol',
    enabled: settings.enabled,
    capabilities: {
      images: false,
      approvals: false,
      interrupt: true,
      resume: true,
      usage: true,
      models: false,
    },
    problem: () => problemOf(settings),
    stats: () => ({ ...stats }),
    async open(session: Session, sink: AgentSink, signal: AbortSignal): Promise<Agent> {
      try {
        return await openAcpAgent({
          ...given,
          session,
          sink,
          signal,
          environment: agentEnvironment(process.env, settings.env),
          onUnknown: () => stats.unknown_messages++,
        });
      } catch (error) {
        stats.last_error = error instanceof Error ? error.message : String(error);
        throw error;
      }
    },
  };
}

function problemOf({ enabled, command, transport, env }: AcpSettings): string | null {
  if (!enabled)
    return 'not configured: add a section [providers.acp] with a command, or try cadre serve --demo';
  if (transport !== 'stdio') return `transport "${transport}" is not supported: use "stdio"`;
  if (!command) return 'no command is configured: set providers.acp.command';
  if (!findProgram(command, env.PATH ?? process.env.PATH)) {
    return `the command "${command}" is not installed, or not on PATH: set providers.acp.command`;
  }
  return null;
}
