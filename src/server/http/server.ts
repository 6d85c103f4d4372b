import { lookup } from 'node:dns/promises';
import net from 'node:net';
import { promisify } from 'node:util';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessRules } from '../../core/access/admit.ts';
import { FailedAuthentications } from '../../core/access/failed-auth.ts';
import type { TokenHolder, TokenService } from '../../core/access/tokens.ts';
import { RequestCounts } from '../maintenance/diagnostics/requests.ts';
import { AppError, conflictError, invalidError } from '../../api/errors.ts';
import type { Feed } from '../../core/events/feed.ts';
import type { EventLog } from '../../core/events/log.ts';
import type { ToolGateway } from '../teams/gateway/service.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { ProcessService } from '../work/processes/service.ts';
import type { IdempotencyStore } from '../../core/store/idempotency-store.ts';
import { type AppSettings, createApp } from './app.ts';
import { accessOf, AuthHook } from './auth-hook.ts';
import {
  sendInternalRequest,
  type InternalResponse,
  type InternalRequest,
} from './internal-request.ts';
import { type Mount, mounter } from './mount.ts';
import { assertNotEncoded, isUnknown, refuseUnknown } from './refuse.ts';
import { type Conversations, conversationRoutes } from './routes/sessions.ts';
import { eventRoutes } from './routes/events.ts';
import { type Teams, gatewayRoutes, teamRoutes } from './routes/teams.ts';
import {
  type Hooks,
  type ServerInfo,
  hookRoutes,
  runtimeRoutes,
  tokenRoutes,
} from './routes/runtime.ts';
import { processRoutes } from './routes/processes.ts';
import { type ProviderOperations, providerRoutes } from './routes/providers.ts';
import { type LinkOperations, answerRoutes } from './routes/answer.ts';
import { type SearchOperations, searchRoutes } from './routes/search.ts';
import { type Worktrees, raceRoutes, worktreeRoutes } from './routes/worktrees.ts';
import { EventStreams } from './sse.ts';
import { SandboxToolServer, type ToolPort } from './sandbox-tool-server.ts';
import type { StreamSettings } from './stream-limits.ts';
import { PendingRequests } from './pending-requests.ts';

/** How long the last responses may take when the server stops, in milliseconds. */
const LAST_ANSWERS_MS = 2000;

export interface HttpServer {
  /** The address, `http://HOST:PORT`; empty before the server listens. */
  readonly url: string;
  /** Resolves once the server listens; with `orFree` on any free port if the port is in use. Throws AppError. */
  listen(host: string, port: number, orFree: boolean): Promise<void>;
  /** The time of the last request on the monotonic clock, in milliseconds; now if a connection is open. */
  lastUsedAt(): Promise<number>;
  /** Handles an internal request with the rights of `holder`. A refusal is a response too. */
  ask(request: InternalRequest, holder: TokenHolder): Promise<InternalResponse>;
  /** The port of the server in the network of a sandbox, which reaches only the tools there. The server has to listen. */
  readonly tools: ToolPort;
  /** From now on requests that would change something are refused with `shutting_down`. */
  refuseChanges(): void;
  /** Ends the streams after their stored events, then every connection. `isRestart`: another server takes over. */
  close(isRestart?: boolean): Promise<void>;
}

interface HttpServerDependencies extends AppSettings, Conversations, Teams, Worktrees {
  access: AccessRules;
  self: ServerInfo;
  log: EventLog;
  feed: Feed;
  streamLimits: () => StreamSettings;
  processes: ProcessService;
  providers: ProviderOperations;
  hooks: Hooks & LinkOperations;
  searching: SearchOperations;
  tokens: TokenService;
  gateway: ToolGateway;
  idempotencyStore: IdempotencyStore;
  clock: Clock;
}

/** Returns the HTTP server, not listening yet. */
export function createHttpServer(dependencies: HttpServerDependencies): HttpServer {
  const { access, feed, clock, logger, idempotencyStore } = dependencies;
  const streams = new EventStreams({ feed, clock, limits: dependencies.streamLimits });
  const failures = new FailedAuthentications({ clock, logger });
  const requests = new RequestCounts();
  const authHook = new AuthHook({ access, failures, requests });
  const app = createApp(dependencies, authHook);
  const toolServer = new SandboxToolServer(app.server);
  const pendingRequests = new PendingRequests(clock);
  let takesChanges = true;
  let url = '';
  let lastRequestAt = clock.monotonic();
  app.addHook('onRequest', async (request, reply) => {
    lastRequestAt = clock.monotonic();
    authHook.begin(request, reply);
    if (!(await authHook.authenticate(request, reply))) return reply;
    toolServer.assertAllowed(request.raw);
    pendingRequests.add(request.over);
    admit(request, reply, dependencies, takesChanges);
  });
  mountRoutes(mounter(app, { idempotencyStore, streams }), dependencies, requests);
  // A tunnel is one source for all who use it: they must not slow down those who come without it.
  answerRoutes(app, dependencies.hooks, (request, reply) =>
    authHook.failed(request, reply, 'link '),
  );

  return {
    get url() {
      return url;
    },
    async listen(host, port, orFree) {
      url = await listen(app, host, port, orFree);
    },
    async lastUsedAt() {
      const connections = await promisify(app.server.getConnections.bind(app.server))();
      return connections > 0 ? clock.monotonic() : lastRequestAt;
    },
    ask: (request, holder) => sendInternalRequest(app, request, holder),
    get tools() {
      return toolServer.port;
    },
    refuseChanges() {
      takesChanges = false;
      // The server stops accepting connections, but open ones may still read. `close` of node:http would also close
      // idle connections, and a request may be on its way on one of them.
      net.Server.prototype.close.call(app.server);
    },
    async close(isRestart = false) {
      await streams.end(isRestart);
      await pendingRequests.over(LAST_ANSWERS_MS);
      await app.close();
      failures[Symbol.dispose]();
    },
  };
}

/** Admits a request to its route before its body is read. Throws AppError. */
function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  { self, feed }: Pick<HttpServerDependencies, 'self' | 'feed'>,
  takesChanges: boolean,
): void {
  const access = accessOf(request);
  const isPublic = access === 'public' || access === 'link';
  if (!isPublic) reply.header('X-Epoch', self.epoch);
  if (isUnknown(request)) refuseUnknown(request, reply);
  // A keep-alive connection ends with its response, or the server would wait for it.
  if (!takesChanges) reply.header('connection', 'close');
  if (request.method === 'GET' || request.method === 'HEAD') {
    if (!isPublic) reply.header('X-Seq', String(feed.latestSeq));
    return;
  }
  if (!takesChanges)
    throw new AppError('shutting_down', 'the server is stopping: try again after the restart');
  assertNotEncoded(request);
}

function mountRoutes(
  mount: Mount,
  dependencies: HttpServerDependencies,
  requests: RequestCounts,
): void {
  runtimeRoutes(mount, dependencies.self, requests);
  providerRoutes(mount, dependencies.providers);
  conversationRoutes(mount, dependencies);
  searchRoutes(mount, dependencies.searching);
  processRoutes(mount, dependencies.processes);
  worktreeRoutes(mount, dependencies);
  raceRoutes(mount, dependencies);
  teamRoutes(mount, dependencies);
  eventRoutes(mount, dependencies);
  hookRoutes(mount, dependencies.hooks);
  tokenRoutes(mount, dependencies.tokens);
  gatewayRoutes(mount, dependencies.gateway);
}

/** Listens and returns the address; with `orFree` on any free port if the port is in use. Throws AppError if it cannot listen. */
async function listen(
  app: FastifyInstance,
  host: string,
  port: number,
  orFree: boolean,
): Promise<string> {
  try {
    // Given the name, fastify opens a second server for the other address of it, which has no limits and does not stop.
    const { address } =
      host === 'localhost' ? await lookup(host, { order: 'ipv4first' }) : { address: host };
    return await app.listen({
      host: address.replace(/^\[(.*)\]$/, '$1'),
      port,
      listenTextResolver: (address) => `listening on ${address}`,
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') {
      if (orFree) return listen(app, host, 0, false);
      throw conflictError(
        `port ${port} is in use: choose another port with --port, or any free port with --port 0`,
        { cause: error },
      );
    }
    const reason = LISTEN_PROBLEMS[code ?? ''] ?? message;
    throw invalidError(`cannot listen on ${host}:${port}: ${reason}`, { cause: error });
  }
}

/** The errors of the system that a person can solve, in words. */
const LISTEN_PROBLEMS: Record<string, string> = {
  EADDRNOTAVAIL:
    'no network interface that is up has this address: set server.bind_address to an address of this machine, or bring the interface up',
  EACCES:
    'the user who runs the server must not listen on this port: choose a port of at least 1024',
};
