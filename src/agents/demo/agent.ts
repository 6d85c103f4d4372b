import {
  type AgentApp,
  type AgentContext,
  type InitializeResponse,
  PROTOCOL_VERSION,
  type PromptResponse,
  RequestError,
  type SessionModeState,
  type SessionUpdate,
  type StopReason,
  type Usage,
  agent,
  methods,
} from '@agentclientprotocol/sdk/unstable';
import { type History, type ModeId, HistoryFiles, modeIds } from './history.ts';
import { Turn, countWords, readPrompt } from './turn.ts';
import { Sessions } from './sessions.ts';
import type { AgentHost } from './host.ts';
import { version } from '../../core/lib/self.ts';
import { greeting, parseScript } from './script.ts';
import { runStep } from './steps.ts';

/** The agent for one connection. Connect `app` to a stream, or in a test to a client. */
interface DemoAgent {
  readonly app: AgentApp;
  /** Resolves when no turn is running. Once the connection has closed, running turns end soon. */
  settled(): Promise<void>;
}

/** Creates the agent. It stores its sessions in `stateDir` and does nothing until it is connected. */
export function createDemoAgent(stateDir: string, host: AgentHost): DemoAgent {
  const sessions = new Sessions(new HistoryFiles(stateDir));
  const { initialize, session } = methods.agent;

  const app = agent({ name: 'cadre-demo' })
    .onRequest(initialize, () => initializeResponse)

    .onRequest(session.new, ({ params }) => {
      const { history } = sessions.create(host.newSessionId(), params.cwd);
      return { sessionId: history.sessionId, modes: modeState(history.mode) };
    })

    .onRequest(session.load, async ({ params, client }) => {
      const { history } = sessions.open(params.sessionId, params.cwd);
      await replayHistory(history, client);
      return { modes: modeState(history.mode) };
    })

    .onRequest(session.resume, ({ params }) => {
      const { history } = sessions.open(params.sessionId, params.cwd);
      return { modes: modeState(history.mode) };
    })

    .onRequest(session.fork, ({ params }) => {
      const { sessionId, cwd } = params;
      const { history } = sessions.fork(sessionId, host.newSessionId(), cwd);
      return { sessionId: history.sessionId, modes: modeState(history.mode) };
    })

    .onRequest(session.list, ({ params }) => ({ sessions: sessions.list(params.cwd ?? undefined) }))

    .onRequest(session.close, async ({ params }) => {
      await sessions.close(params.sessionId);
    })

    .onRequest(session.setMode, async ({ params: { sessionId, modeId }, client }) => {
      const mode = modeIds.find((id) => id === modeId);
      if (!mode) throw RequestError.invalidParams({ modeId }, `unknown mode "${modeId}"`);
      sessions.get(sessionId).setMode(mode);
      const update = { sessionUpdate: 'current_mode_update' as const, currentModeId: mode };
      await client.notify(methods.client.session.update, { sessionId, update });
    })

    .onRequest(session.prompt, ({ params, client, signal }) => {
      const session = sessions.get(params.sessionId);
      const prompt = readPrompt(params.prompt);
      const turn = new Turn({ session, prompt, client, host, requestSignal: signal });
      return session.enqueue(turn, () => runTurn(turn));
    })

    .onNotification(session.cancel, ({ params }) => sessions.cancel(params.sessionId));

  return { app, settled: () => sessions.settled() };
}

/** The response to `initialize`. The agent supports one protocol version, so it ignores the version of the request. */
const initializeResponse: InitializeResponse = {
  protocolVersion: PROTOCOL_VERSION,
  agentInfo: { name: 'cadre-demo', title: "cadre's demo agent", version },
  authMethods: [],
  agentCapabilities: {
    loadSession: true,
    _meta: { 'cadre/no-tools': true },
    promptCapabilities: { image: true },
    sessionCapabilities: { list: {}, resume: {}, close: {}, fork: {} },
  },
};

/** The modes, for the client to show. The agent asks for nothing in `full_access`, and not for edits in `workspace_write`. */
function modeState(currentModeId: ModeId): SessionModeState {
  return {
    currentModeId,
    availableModes: Object.entries(modeNames).map(([id, name]) => ({ id, name })),
  };
}

const modeNames: Record<ModeId, string> = {
  default: 'Default',
  read_only: 'Read only',
  workspace_write: 'Workspace write',
  full_access: 'Full access: no approvals',
};

/** Sends the stored history of a session to the client: each prompt and each message as one chunk. */
async function replayHistory({ sessionId, turns }: History, client: AgentContext): Promise<void> {
  const updates = turns.flatMap(({ number, prompt, messages }) => [
    chunk('user_message_chunk', `${sessionId}-${number}-prompt`, prompt),
    ...messages.map(({ messageId, text }) => chunk('agent_message_chunk', messageId, text)),
  ]);
  for (const update of updates)
    await client.notify(methods.client.session.update, { sessionId, update });
}

function chunk(
  sessionUpdate: 'user_message_chunk' | 'agent_message_chunk',
  messageId: string,
  text: string,
): SessionUpdate {
  return { sessionUpdate, messageId, content: { type: 'text', text } };
}

const contextSize = 200_000;

/** Runs a turn to its end. The prompt is stored before the first output is sent. */
export async function runTurn(turn: Turn): Promise<PromptResponse> {
  // A turn that was cancelled while it was queued never began, so it is not stored.
  if (turn.signal.aborted) return { stopReason: 'cancelled' };
  turn.session.beginTurn(turn.prompt.text);
  const stopReason = await runScript(turn).finally(() =>
    turn.session.endTurn(turn.messages, countedUsage(turn).totalTokens),
  );
  if (!turn.usage) {
    const used = turn.session.history.tokens;
    await turn.update({ sessionUpdate: 'usage_update', used, size: contextSize });
  }
  // Not awaited, because it happens outside any turn. It fails if the client has disconnected by then.
  turn.afterwards?.().catch(() => undefined);
  return { stopReason, usage: scriptedUsage(turn) ?? countedUsage(turn) };
}

async function runScript(turn: Turn): Promise<StopReason> {
  const script = parseScript(turn.prompt.text);
  try {
    if (script.length === 0) await turn.say(greeting(turn.prompt.text));
    for (const command of script) {
      turn.signal.throwIfAborted();
      const stopReason = await runStep(command, turn);
      if (stopReason) return stopReason;
    }
    turn.signal.throwIfAborted();
    return 'end_turn';
  } catch (error) {
    // An abort makes each step throw a different error; all of them mean that the turn was cancelled.
    if (turn.signal.aborted) return 'cancelled';
    throw error;
  }
}

/** Usage by the agent's own count: each word of the prompt and each chunk of the reply is one token. */
function countedUsage({ prompt, chunks }: Turn): Usage {
  const inputTokens = countWords(prompt.text);
  return { inputTokens, outputTokens: chunks, totalTokens: inputTokens + chunks };
}

/** Usage as the script's `usage` command set it. */
function scriptedUsage({ usage, chunks }: Turn): Usage | undefined {
  if (!usage) return undefined;
  const outputTokens = Math.min(chunks, usage.used);
  return { inputTokens: usage.used - outputTokens, outputTokens, totalTokens: usage.used };
}
