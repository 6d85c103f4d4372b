import path from 'node:path';
import type { ToolEnvelope, ToolErrorCode, ToolInfo } from '../../api/gateway.ts';
import { endpoints } from '../../api/index.ts';
import { toolInfosOf, toolNamespaces } from '../../api/tools.ts';
import { type Client, HttpClient } from '../../client/client.ts';
import { AppError, invalidError, unreachableError } from '../../api/errors.ts';
import { systemClock } from '../../core/lib/clock.ts';
import { newUuid } from '../../core/lib/ids.ts';
import type { ToolBackend } from '../../server/teams/mcp/tool-server.ts';

/** The time between two attempts of a call that has found no server, in ms. */
const RETRY_MS = 200;
/** The time between two requests that keep a server from stopping because it is idle, in ms. */
const PRESENCE_MS = 600_000;

/** Where the tools are called, and as whom. */
export interface ToolAccess {
  /** Null: no server is running. */
  url: string | null;
  token: string;
  /** The id of a session, or of the token of a caller without one. */
  callerId: string;
  /** Whether the caller has no session: it then has the process tools alone, and the directory of this process. */
  isExternal: boolean;
  /** For how long a call that finds no server is repeated, in ms: another server may take over the session. */
  reattachMs: number;
}

/**
 * Runs the MCP server that an agent starts. It serves the tools on stdin and stdout until its input ends. `access` is
 * asked before each call, so that a server may start, and change its address, while the agent runs; it throws an AppError
 * where there is no access. Throws `invalid` if the input cannot be read, or contains a line that is too long.
 */
export async function runSidecar(io: {
  access: () => ToolAccess;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
}): Promise<void> {
  const [{ serveTools }, { LineTransport }] = await Promise.all([
    import('../../server/teams/mcp/tool-server.ts'),
    import('../../server/teams/mcp/transports.ts'),
  ]);
  const clients = new Clients();
  const transport = new LineTransport(io.stdin, io.stdout, systemClock);
  let failure: Error | null = null;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the transport has no addEventListener
  transport.onerror = (error) => (failure ??= error);
  // The server takes a request in this time for the sign that its caller is still there.
  using _presence = systemClock.every(PRESENCE_MS, () => {
    const { url } = accessOrNull(io.access) ?? {};
    if (url) void fetch(`${url}/health`).catch(() => undefined);
  });
  await serveTools(transport, backendOf(io.access, clients), systemClock);
  clients.close();
  if (failure !== null) throw invalidError((failure as Error).message, { cause: failure });
}

/** The access of a session's agent, by the environment that it was given. Throws `unauthorized` without it. */
export function accessOfSession(env: NodeJS.ProcessEnv): ToolAccess {
  const { CADRE_GATEWAY_URL: url, CADRE_GATEWAY_TOKEN: token, CADRE_SESSION_ID: callerId } = env;
  const reattachMs = Number(env.CADRE_REATTACH_MS ?? 0);
  if (url && !URL.canParse(url))
    throw new AppError('unauthorized', `CADRE_GATEWAY_URL is not a URL: ${url}`);
  if (url && token && callerId) return { url, token, callerId, isExternal: false, reattachMs };
  throw new AppError(
    'unauthorized',
    'no access to the tools of cadre: set CADRE_GATEWAY_URL, CADRE_GATEWAY_TOKEN and CADRE_SESSION_ID',
  );
}

function backendOf(access: () => ToolAccess, clients: Clients): ToolBackend {
  return {
    async list() {
      try {
        const now = access();
        const { namespaces } = await clients.of(now).call(endpoints.getCapabilities, {});
        const tools = namespaces.flatMap((one) => one.tools);
        return toolsFor(tools, now);
      } catch {
        // With an empty list the agent could call nothing; a call of a listed tool returns the reason.
        const all = Object.values(toolNamespaces).flatMap(toolInfosOf);
        return toolsFor(all, accessOrNull(access));
      }
    },
    async call(tool, args, signal) {
      try {
        const now = access();
        const body = {
          tool_name: tool,
          caller_agent_id: now.callerId,
          // Request ids of MCP start again with each sidecar, so they cannot serve as invocation ids.
          invocation_id: newUuid(),
          args: now.isExternal ? inThisDirectory(tool, args) : args,
        };
        return await repeated(
          () => clients.of(now).call(endpoints.invokeTool, { body }, signal),
          now.reattachMs,
          signal,
        );
      } catch (error) {
        return failureOf(error);
      }
    },
  };
}

/** Repeats a call while there is no server, for `ms`. The server runs a call with one `invocation_id` once. */
async function repeated<T>(call: () => Promise<T>, ms: number, signal: AbortSignal): Promise<T> {
  for (const until = systemClock.monotonic() + ms; ;)
    try {
      return await call();
    } catch (error) {
      const isGone = error instanceof AppError && NO_SERVER.has(error.code);
      if (!isGone || systemClock.monotonic() >= until) throw error;
      await systemClock.sleep(RETRY_MS, signal);
    }
}

const NO_SERVER: ReadonlySet<string> = new Set(['unreachable', 'shutting_down']);

/** The client of the server that was asked last. */
class Clients {
  #last: { url: string; token: string; client: Client } | null = null;

  of({ url, token }: ToolAccess): Client {
    if (url === null)
      throw unreachableError(
        'no cadre server is running: start a server with cadre serve --detach, then call the tool again',
      );
    if (this.#last?.url !== url || this.#last.token !== token) {
      this.close();
      this.#last = { url, token, client: new HttpClient({ url, token }) };
    }
    return this.#last.client;
  }

  close(): void {
    this.#last?.client.close();
    this.#last = null;
  }
}

function accessOrNull(access: () => ToolAccess): ToolAccess | null {
  try {
    return access();
  } catch {
    return null;
  }
}

/** A caller without a session is in no team. */
function toolsFor(tools: readonly ToolInfo[], access: ToolAccess | null): readonly ToolInfo[] {
  return access?.isExternal
    ? tools.filter(({ name }) => !(name in toolNamespaces.cadre_team))
    : tools;
}

/** A command of a caller without a session runs where its agent works, as one of a session does. */
function inThisDirectory(tool: string, args: Record<string, unknown>): Record<string, unknown> {
  const { cwd = '.' } = args;
  if (tool !== 'cadre_process_run' || (typeof cwd !== 'string' && cwd !== null)) return args;
  return { ...args, cwd: path.resolve(cwd ?? '.') };
}

function failureOf(error: unknown): ToolEnvelope {
  if (!(error instanceof AppError))
    return failure('internal', 'cannot call the tool because of an internal error of cadre');
  const { code, message } = error;
  if (code === 'unreachable' || code === 'unauthorized' || code === 'shutting_down')
    return failure('backend_unavailable', `tools unavailable: ${message}`);
  return failure(code === 'not_found' ? code : 'bad_request', message);
}

function failure(code: ToolErrorCode, message: string): ToolEnvelope {
  return { ok: false, error: { code, message } };
}
