import { addAbortListener } from 'node:events';
import { attached, type AttachedAgent, type SurvivingAgent } from '../attached-turn.ts';
import type { LoginPage } from '../../api/agent-logins.ts';
import type { Session } from '../../api/sessions.ts';
import {
  type Agent,
  type AgentSink,
  type AgentTools,
  ProviderError,
  silentSink,
} from '../provider.ts';
import { earlierDefaults } from '../session-settings.ts';
import type { ForkPoint } from '../conversations.ts';
import { reportNoFork } from '../fork.ts';
import { AcpAgent, type AgentOptions } from './agent.ts';
import { agentError } from './connection.ts';
import { type StartOptions, startChild } from './process.ts';
import { listRefs } from './reopen.ts';

/** Starts an agent for one session, or resumes the session in a new one. Errors as in `Provider.open`. */
export function openAcpAgent(
  session: Session,
  sink: AgentSink,
  tools: AgentTools,
  start: StartOptions,
  fork: ForkPoint | null,
): Promise<Agent> {
  return withAgent({ ...start, sink, tools, usedBefore: session.usage }, async (agent) => {
    const { provider_session_ref: ref } = session;
    if (ref !== null) await agent.resume(ref, earlierDefaults(session));
    else if (!fork || !(await isForked(agent, fork, session, sink))) await agent.create();
    return agent;
  });
}

/** Takes over the agent of a running turn from an earlier server. Errors as in `TakesOver.attach`. */
export function attachAcpAgent(
  session: Session,
  sink: AgentSink,
  left: SurvivingAgent,
  start: StartOptions,
): AttachedAgent {
  const { child, position } = left;
  const options = { ...start, sink, tools: null, usedBefore: session.usage };
  return attached(new AcpAgent(child, options, position), session, left, () => child.end(0));
}

/** Has an agent begin a session as a fork of a whole session, and reports why it cannot. */
async function isForked(
  agent: AcpAgent,
  { ref }: ForkPoint,
  session: Session,
  sink: AgentSink,
): Promise<boolean> {
  const { can, login } = agent.process;
  let refusal = 'the agent cannot fork sessions';
  if (can.fork)
    try {
      await agent.create(ref, earlierDefaults(session));
      return true;
    } catch (error) {
      const failure = agentError((error as Error).cause);
      if (!failure || login.refusalIn(error)) throw error;
      refusal = failure.message;
    }
  await reportNoFork(sink, refusal);
  return false;
}

/** Starts an agent and lists its sessions; null if the agent cannot list them. */
export function listSessions(start: StartOptions): Promise<ReadonlySet<string> | null> {
  return askAgent(start, (agent) => listRefs(agent.process));
}

/** Opens a session to read the facts that an agent reports in it, and deletes the session if the agent supports that. */
export async function openProbeSession(agent: AcpAgent): Promise<void> {
  await agent.create();
  if (!agent.process.can.delete) return;
  // Nobody has seen this session: a refusal to delete it harms nobody.
  await agent.process.ask('session/delete', { sessionId: agent.ref }).catch(() => undefined);
}

/** Starts an agent, and returns whether it can resume a session. */
export function hasSession(ref: string, start: StartOptions): Promise<boolean> {
  return askAgent(start, async (agent) => {
    try {
      await agent.resume(ref, null);
      return true;
    } catch (error) {
      if (error instanceof ProviderError && error.code === 'resume_failed') return false;
      throw error;
    }
  });
}

/** Starts an agent for one request, and ends it. `onPage` receives the web pages that the agent asks the user to open. */
export function askAgent<T>(
  start: StartOptions,
  question: (agent: AcpAgent) => Promise<T>,
  { tools = null, onPage }: { tools?: AgentTools | null; onPage?: (page: LoginPage) => void } = {},
): Promise<T> {
  const options = { ...start, sink: silentSink, tools, usedBefore: null };
  return withAgent({ ...options, ...(onPage && { onPage }) }, async (agent) => {
    try {
      return await question(agent);
    } finally {
      await agent.end(0);
    }
  });
}

/** Starts and initializes an agent, and ends it again if `use` fails or the signal aborts meanwhile. */
async function withAgent<T>(
  options: AgentOptions,
  use: (agent: AcpAgent) => Promise<T>,
): Promise<T> {
  let agent: AcpAgent | undefined;
  using _listener = addAbortListener(options.signal, () => void agent?.end(0));
  try {
    const started = new AcpAgent(await startChild(options), options);
    agent = started;
    options.signal.throwIfAborted();
    await options.starting(() => started.process.initialize());
    return await use(started);
  } catch (error) {
    await agent?.end(0);
    throw error;
  }
}
