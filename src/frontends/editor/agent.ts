import {
  type AgentApp,
  type AgentContext,
  type AgentRequestHandler,
  type AgentRequestHandlersByMethod,
  agent,
  type InitializeRequest,
  type InitializeResponse,
  methods,
  type NewSessionRequest,
  type NewSessionResponse,
  type PromptRequest,
  type PromptResponse,
  PROTOCOL_VERSION,
  type SetSessionTitleRequest,
  RequestError,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type McpServer as AcpMcpServer,
} from '@agentclientprotocol/sdk/unstable';
import { endpoints } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { AppError, type ErrorCode, invalidError } from '../../api/errors.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { AttachedSession } from './attached-session.ts';
import { inputOf } from './input.ts';
import { type NewSession, OpenSessions } from './open-sessions.ts';
import type { ServerLink } from './server-link.ts';
import path from 'node:path';
import type { Session } from '../../api/sessions.ts';
import type { McpServer } from '../../api/mcp-servers.ts';

export interface AgentOptions {
  link: ServerLink;
  clock: Clock;
  version: string;
  /** The request that opens a session in a directory. Throws an AppError that says what to configure. */
  opening: (client: Client, cwd: string) => Promise<NewSession>;
  /** Finds the session that the editor gets instead of each new one; null: it gets new ones. */
  fixed: ((client: Client) => Promise<string>) | null;
}

/** Cadre as an ACP agent, for one connection: its sessions belong to the server, and stay when the editor leaves. */
export function createCadreAgent(options: AgentOptions): AgentApp {
  const { initialize, session: of } = methods.agent;
  const mine = new Handlers(options);
  const handlers: Partial<AgentRequestHandlersByMethod> = {
    [initialize]: ({ params, client }) => mine.initialize(params, client),
    [of.new]: ({ params }) => mine.open(params),
    [of.load]: ({ params }) => mine.load(params.sessionId),
    [of.resume]: ({ params }) => mine.resume(params.sessionId),
    [of.list]: ({ params }) => listSessions(options.link, params),
    [of.close]: ({ params }) => mine.close(params.sessionId),
    [of.delete]: ({ params }) => mine.delete(params.sessionId),
    [of.setTitle]: ({ params }) => mine.setTitle(params),
    [of.setMode]: ({ params }) => mine.setMode(params.sessionId, params.modeId),
    [of.setConfigOption]: ({ params: { sessionId, configId, value } }) =>
      mine.choose(sessionId, configId, value),
    [of.prompt]: ({ params, signal }) => mine.prompt(params, signal),
  };
  const app = agent({ name: 'cadre' });
  app.onConnect(({ closed }) => void closed.then(() => mine.leave()));
  // `onRequest` has no other type for a method that is not a literal.
  for (const [method, handle] of Object.entries(handlers))
    app.onRequest(method as '*', answering(handle as AgentRequestHandler<unknown, unknown>));
  // After the requests: a message is tried with one handler after the other, and a cancellation must not overtake a prompt.
  return app.onNotification(of.cancel, ({ params }) => mine.cancel(params.sessionId));
}

/** The handlers of the requests. They throw AppErrors. */
class Handlers {
  readonly #options: AgentOptions;
  #open: OpenSessions | null = null;

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  async initialize(
    { clientCapabilities: capabilities = {} }: InitializeRequest,
    editor: AgentContext,
  ): Promise<InitializeResponse> {
    const { link, version } = this.#options;
    // Whether there is a server that lets us in: an editor shows this error where it starts its agents.
    await link.call(endpoints.getVersion, {});
    this.leave();
    this.#open = new OpenSessions({ ...this.#options, editor, capabilities });
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

  async open({ cwd, mcpServers }: NewSessionRequest): Promise<NewSessionResponse> {
    const { link, fixed } = this.#options;
    const { attached, sendHistory } = fixed
      ? await this.#sessions.load(await link.use(fixed))
      : {
          attached: await this.#sessions.create(cwd, { mcp_servers: serversOf(mcpServers) }),
          sendHistory: undefined,
        };
    attached.begin(sendHistory);
    return { sessionId: attached.id, ...attached.choosing.offer };
  }

  async load(sessionId: string): Promise<Offer> {
    const { attached, sendHistory } = await this.#sessions.load(sessionId);
    try {
      await sendHistory();
    } catch (error) {
      this.#sessions.leave(attached);
      throw error;
    }
    attached.begin();
    return attached.choosing.offer;
  }

  async resume(sessionId: string): Promise<Offer> {
    const attached = await this.#sessions.resume(sessionId);
    // The coming events do not include earlier requests.
    attached.begin(() => attached.askAll());
    return attached.choosing.offer;
  }

  /** Ends what the editor does in a session. The session stays. */
  async close(sessionId: string): Promise<void> {
    await this.#sessions.get(sessionId).close();
    this.#sessions.forget(sessionId);
  }

  /** Closes a session for good. Its record stays. */
  async delete(session_id: string): Promise<void> {
    const body = { reason: 'a user deleted the session in an editor' };
    await this.#options.link.call(endpoints.closeSession, { params: { session_id }, body });
    this.#sessions.forget(session_id);
  }

  async setTitle({ sessionId: session_id, title }: SetSessionTitleRequest) {
    const body = { title };
    await this.#options.link.call(endpoints.updateSession, { params: { session_id }, body });
    return body;
  }

  async setMode(sessionId: string, modeId: string): Promise<void> {
    await this.choose(sessionId, 'mode', modeId);
  }

  /** Sets a choice for the turns of the editor, and returns the choices after that. */
  async choose(sessionId: string, option: string, value: unknown): Promise<ConfigOptions> {
    const session = this.#sessions.get(sessionId);
    session.choosing.choose(option, value);
    const { modes, configOptions } = session.choosing.offer;
    if (option === 'mode') {
      const { currentModeId } = modes;
      await session.update({ sessionUpdate: 'current_mode_update', currentModeId });
    }
    await session.update({ sessionUpdate: 'config_option_update', configOptions });
    return { configOptions };
  }

  prompt({ sessionId, prompt }: PromptRequest, signal: AbortSignal): Promise<PromptResponse> {
    return this.#sessions.get(sessionId).prompt(inputOf(prompt), signal);
  }

  cancel(sessionId: string): void {
    this.#open?.find(sessionId)?.cancel();
  }

  /** Detaches from all sessions, which continue. */
  leave(): void {
    this.#open?.detachAll();
  }

  get #sessions(): OpenSessions {
    if (this.#open) return this.#open;
    throw invalidError('connection not initialized: call initialize first');
  }
}

type Offer = AttachedSession['choosing']['offer'];
type ConfigOptions = Pick<Offer, 'configOptions'>;

/** A handler whose refusals reach the editor in the words of cadre. */
function answering(
  handle: AgentRequestHandler<unknown, unknown>,
): AgentRequestHandler<unknown, unknown> {
  return async (context) => {
    try {
      return await handle(context);
    } catch (error) {
      throw requestError(error);
    }
  };
}

/** The codes of JSON-RPC and of ACP for what a client can act on; every other error is an internal one. */
const codes: Partial<Record<ErrorCode, number>> = {
  invalid: -32602,
  usage: -32602,
  not_found: -32002,
};

/** The next step, where only the user who starts `cadre acp` can act. */
const ways: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'set CADRE_TOKEN for cadre acp, or pass --token-file',
};

/** An error as the editor gets it: with the words of cadre, and its code in `data`. */
function requestError(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const way = ways[error.code];
  return new RequestError(
    codes[error.code] ?? -32603,
    way === undefined || error.message.includes('--token-file')
      ? error.message
      : `${error.message}: ${way}`,
    { code: error.code },
  );
}

/** How many sessions the server is asked for at once. */
const PAGE = 100;

/**
 * Lists a page of the sessions that can continue, newest first; with `cwd`, only sessions of this directory. A page has
 * as many sessions as a page of the server, and at least one if any is left.
 */
async function listSessions(
  link: ServerLink,
  { cwd, cursor }: ListSessionsRequest,
): Promise<ListSessionsResponse> {
  const directory = cwd === undefined || cwd === null ? null : path.resolve(cwd);
  for (let next = cursor ?? undefined; ;) {
    const query = { limit: PAGE, ...(next === undefined ? {} : { cursor: next }) };
    const { value, headers } = await link.ask(endpoints.listSessions, { query });
    const found = value.filter(
      (one) => one.status !== 'closed' && (directory === null || one.cwd === directory),
    );
    const following = headers['x-next-cursor'];
    if (typeof following !== 'string') return { sessions: found.map(infoOf) };
    if (found.length > 0) return { sessions: found.map(infoOf), nextCursor: following };
    next = following;
  }
}

function infoOf({ id, cwd, title, last_activity_at }: Session) {
  return { sessionId: id, cwd, title, updatedAt: new Date(last_activity_at).toISOString() };
}

/**
 * Translates the MCP servers of an editor. The server of cadre is left out, because every agent has it. Throws
 * `invalid` for a server that lives in the editor.
 */
function serversOf(servers: readonly AcpMcpServer[]): McpServer[] {
  const others = servers.filter(({ name }) => name !== 'cadre');
  return others.map((server) => {
    if (!('type' in server)) {
      const { name, command, args, env } = server;
      return { type: 'stdio', name, command, args, env: byName(env) };
    }
    if (server.type === 'acp')
      throw invalidError(
        `cadre cannot reach MCP server "${server.name}", because it runs in the editor: remove the server`,
      );
    const { type, name, url, headers } = server;
    return { type, name, url, headers: byName(headers) };
  });
}

function byName(pairs: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
}
