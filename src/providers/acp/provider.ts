import type { Supervisor } from '../../children/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import { findProgram } from '../../lib/find-program.ts';
import { newSecret } from '../../lib/ids.ts';
import { agentEnvironment } from '../../children/environment.ts';
import { Known } from '../known.ts';
import type { AgentSink, AgentTools, Provider } from '../provider.ts';
import { type AgentOptions, hasSession, listSessions, openAcpAgent } from './agent.ts';

/** How the agent is configured; `[providers.acp]`. */
export interface AcpSettings {
  enabled: boolean;
  /** Whether the section exists. */
  configured: boolean;
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
  toolsFor: (sessionId: string) => AgentTools;
}): Provider {
  const { settings } = given;
  const environment = agentEnvironment(process.env, { ...lockedDoors(), ...settings.env });
  const known = new Known();

  const optionsFor = (
    cwd: string,
    what: string,
    sink: AgentSink,
    signal: AbortSignal,
  ): AgentOptions => ({
    ...given,
    cwd,
    what,
    sink,
    signal,
    environment,
    tools: null,
    onUnknown: () => known.unknownMessages++,
    onVersion: (version) => {
      known.version = version;
    },
    starting: (start) => known.started(start, signal),
  });

  return {
    id: 'acp',
    displayName: 'Agent Client Protocol',
    enabled: settings.enabled,
    capabilities: {
      images: true,
      approvals: true,
      interrupt: true,
      resume: true,
      usage: true,
      models: false,
    },
    imagesByAgent: true,
    problem: () => problemOf(settings),
    startFailure: () => known.startFailure,
    stats: () => known.stats(settings.command),
    authStatus: async () => ({
      authenticated: null,
      mode: settings.enabled ? 'agent_managed' : 'not_configured',
      detail: settings.enabled
        ? 'the agent keeps its own login: log in with its own command'
        : (problemOf(settings) ?? ''),
    }),
    models: async () => [],
    open: (session, sink, signal) =>
      known.noted(
        openAcpAgent(session, {
          ...optionsFor(session.cwd, `agent of ${session.id}`, sink, signal),
          tools: given.toolsFor(session.id),
        }),
        signal,
      ),
    listed: (signal) =>
      known.noted(
        listSessions(
          optionsFor(process.cwd(), 'agent that lists its sessions', silentSink, signal),
        ),
        signal,
      ),
    has: ({ ref, cwd }, signal) =>
      known.noted(
        hasSession(ref, optionsFor(cwd, 'agent that is asked for a session', silentSink, signal)),
        signal,
      ),
  };
}

/**
 * opencode, asked to speak ACP, also opens an HTTP server that can run commands; without a password anyone on
 * the machine may use it.
 */
function lockedDoors(): Record<string, string> {
  return { OPENCODE_SERVER_PASSWORD: newSecret() };
}

/** For an agent that is at no turn. */
const silentSink: AgentSink = {
  update: () => undefined,
  ask: () => Promise.resolve({ decision: 'cancelled' }),
};

function problemOf({ enabled, configured, command, transport, env }: AcpSettings): string | null {
  if (configured && !enabled) return 'disabled: set providers.acp.enabled to true';
  if (!enabled) {
    return 'not configured: add a section [providers.acp] with a command';
  }
  if (transport !== 'stdio') return `transport "${transport}" is not supported: use "stdio"`;
  if (!command) return 'no command is configured: set providers.acp.command';
  if (!findProgram(command, env.PATH ?? process.env.PATH)) {
    return `the command "${command}" is not installed, or not on PATH: set providers.acp.command`;
  }
  return null;
}
