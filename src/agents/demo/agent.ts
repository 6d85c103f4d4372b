import { agent, methods, RequestError, type AgentApp } from '@agentclientprotocol/sdk/unstable';
import { historyFiles } from './history-files.ts';
import { modeIds } from './history.ts';
import { initializeResponse, modeState } from './profile.ts';
import { readPrompt } from './prompt.ts';
import { replayHistory } from './replay.ts';
import { runTurn } from './run-turn.ts';
import { Sessions } from './sessions.ts';
import { Turn } from './turn.ts';
import type { World } from './world.ts';

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
