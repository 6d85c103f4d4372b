import {
  agent,
  methods,
  RequestError,
  type AgentApp,
  PROTOCOL_VERSION,
  type InitializeResponse,
  type SessionModeState,
  type AgentContext,
  type SessionUpdate,
} from '@agentclientprotocol/sdk/unstable';
import { historyFiles, modeIds, type ModeId, type History } from './history.ts';
import { readPrompt, Turn } from './turn.ts';
import { runTurn } from './run-turn.ts';
import { Sessions } from './sessions.ts';
import type { World } from './world.ts';
import { version } from '../../core/lib/self.ts';

/** The agent for one connection. Connect `app` to a stream, or in a test to a client. */
export interface DemoAgent {
  readonly app: AgentApp;
  /** Resolves when no turn is running. Once the connection has closed, running turns end soon. */
  settled(): Promise<void>;
}

/** Creates the agent. It stores its sessions in `stateDir` and does nothing until it is connected. */
export function createDemoAgent(stateDir: string, world: World): DemoAgent {
  const sessions = new Sessions(historyFiles(stateDir));
  const { initialize, session } = methods.agent;

  const app = agent({ name: 'cadre-demo' })
    .onRequest(initialize, () => initializeResponse)

    .onRequest(session.new, ({ params }) => {
      const { history } = sessions.create(world.newSessionId(), params.cwd);
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
      const turn = new Turn({ session, prompt, client, world, requestSignal: signal });
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
    sessionCapabilities: { list: {}, resume: {}, close: {} },
  },
};

/** The modes, for the client to show. Only `full_access` changes what the agent does: it asks for no permission. */
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
async function replayHistory(history: History, client: AgentContext): Promise<void> {
  const { sessionId } = history;
  for (const update of updatesOf(history)) {
    await client.notify(methods.client.session.update, { sessionId, update });
  }
}

function updatesOf({ sessionId, turns }: History): SessionUpdate[] {
  return turns.flatMap(({ number, prompt, messages }) => [
    chunk('user_message_chunk', `${sessionId}-${number}-prompt`, prompt),
    ...messages.map(({ messageId, text }) => chunk('agent_message_chunk', messageId, text)),
  ]);
}

function chunk(
  sessionUpdate: 'user_message_chunk' | 'agent_message_chunk',
  messageId: string,
  text: string,
): SessionUpdate {
  return { sessionUpdate, messageId, content: { type: 'text', text } };
}
