import {
  type AgentApp,
  type AgentRequestContext,
  agent,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
} from '@agentclientprotocol/sdk/unstable';
import { endpoints } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { AttachedSession } from './attached-session.ts';
import { requestError } from './errors.ts';
import { inputOf } from './input.ts';
import { listSessions } from './listing.ts';
import { serversOf } from './mcp-servers.ts';
import { type NewSession, OpenSessions } from './open-sessions.ts';
import type { ServerLink } from './server-link.ts';

export interface AgentOptions {
  link: ServerLink;
  clock: Clock;
  version: string;
  /** The request that opens a session in a directory. Throws an AppError that says what to configure. */
  opening: (client: Client, cwd: string) => Promise<NewSession>;
  /** Finds the session that the editor gets instead of each new one; null: it gets new ones. */
  fixed: ((client: Client) => Promise<string>) | null;
}

/** Cadre as an ACP agent, for one connection: its sessions are those of the server, and stay when the editor leaves. */
export function createCadreAgent(options: AgentOptions): AgentApp {
  const { link, fixed } = options;
  const { initialize, session: of } = methods.agent;
  let open: OpenSessions | undefined;
  const sessions = () => {
    if (open) return open;
    throw new AppError('invalid', 'the connection is not initialized: call initialize first');
  };

  return agent({ name: 'cadre' })
    .onConnect(({ closed }) => void closed.then(() => open?.detachAll()))

    .onRequest(
      initialize,
      answering(async ({ params, client }) => {
        // An editor shows this error where it starts its agents, before anything is written.
        await link.call(endpoints.getVersion, {});
        open?.detachAll();
        const capabilities = params.clientCapabilities ?? {};
        open = new OpenSessions({ ...options, editor: client, capabilities });
        return helloOf(options.version);
      }),
    )

    .onRequest(
      of.new,
      answering(async ({ params: { cwd, mcpServers } }) => {
        const mcp_servers = serversOf(mcpServers);
        if (fixed) {
          const { attached, tellHistory } = await sessions().load(await link.use(fixed));
          attached.begin(tellHistory);
          return { sessionId: attached.id, ...attached.choosing.offer };
        }
        const attached = await sessions().create(cwd, { mcp_servers });
        attached.begin();
        return { sessionId: attached.id, ...attached.choosing.offer };
      }),
    )

    .onRequest(
      of.load,
      answering(async ({ params: { sessionId } }) => {
        const { attached, tellHistory } = await sessions().load(sessionId);
        await tellHistory();
        attached.begin();
        return attached.choosing.offer;
      }),
    )

    .onRequest(
      of.resume,
      answering(async ({ params: { sessionId } }) => {
        const attached = await sessions().resume(sessionId);
        // What was asked before is not among the events that come.
        attached.begin(() => attached.askAll());
        return attached.choosing.offer;
      }),
    )

    .onRequest(
      of.list,
      answering(({ params }) => listSessions(link, params)),
    )

    .onRequest(
      of.close,
      answering(async ({ params: { sessionId } }) => {
        sessions().get(sessionId).close();
        sessions().forget(sessionId);
      }),
    )

    .onRequest(
      of.delete,
      answering(async ({ params: { sessionId: session_id } }) => {
        const body = { reason: 'deleted in an editor' };
        await link.call(endpoints.closeSession, { params: { session_id }, body });
        sessions().forget(session_id);
      }),
    )

    .onRequest(
      of.setTitle,
      answering(async ({ params: { sessionId: session_id, title } }) => {
        const body = { title };
        await link.call(endpoints.updateSession, { params: { session_id }, body });
        return { title };
      }),
    )

    .onRequest(
      of.setMode,
      answering(async ({ params: { sessionId, modeId } }) => {
        await choose(sessions().get(sessionId), 'mode', modeId);
      }),
    )

    .onRequest(
      of.setConfigOption,
      answering(async ({ params: { sessionId, configId, value } }) => {
        const session = sessions().get(sessionId);
        await choose(session, configId, value);
        return { configOptions: session.choosing.offer.configOptions };
      }),
    )

    .onRequest(
      of.prompt,
      answering(async ({ params: { sessionId, prompt }, signal }) =>
        sessions().get(sessionId).prompt(inputOf(prompt), signal),
      ),
    )

    .onNotification(of.cancel, ({ params }) => open?.find(params.sessionId)?.cancel());
}

function helloOf(version: string): InitializeResponse {
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: 'cadre', title: 'cadre', version },
    authMethods: [],
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, embeddedContext: true },
      mcpCapabilities: { http: true, sse: true },
      sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, title: {} },
    },
  };
}

/** Sets a choice, and tells the editor the choices after it. */
async function choose(session: AttachedSession, option: string, value: unknown): Promise<void> {
  session.choosing.choose(option, value);
  const { modes, configOptions } = session.choosing.offer;
  if (option === 'mode')
    await session.update({
      sessionUpdate: 'current_mode_update',
      currentModeId: modes.currentModeId,
    });
  await session.update({ sessionUpdate: 'config_option_update', configOptions });
}

/** A handler whose refusals reach the editor in the words of cadre. */
function answering<Params, Response>(
  handle: (context: AgentRequestContext<Params>) => Promise<Response>,
): (context: AgentRequestContext<Params>) => Promise<Response> {
  return async (context) => {
    try {
      return await handle(context);
    } catch (error) {
      throw requestError(error);
    }
  };
}
