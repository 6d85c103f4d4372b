import net from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessRules } from '../access/admit.ts';
import { FailedAuthentications } from '../access/failed-auth.ts';
import type { TokenHolder, TokenService } from '../access/tokens.ts';
import type { RuleService } from '../rules/service.ts';
import { RequestCounts } from '../diagnostics/requests.ts';
import { AppError } from '../errors.ts';
import type { Feed } from '../events/feed.ts';
import type { EventLog } from '../events/log.ts';
import type { ToolGateway } from '../gateway/service.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { ProcessService } from '../processes/service.ts';
import type { QueueService } from '../queue/service.ts';
import type { ReviewService } from '../reviews/service.ts';
import type { SessionService } from '../sessions/service.ts';
import type { KeptAnswers } from '../store/kept-answers.ts';
import type { InitScripts } from '../worktrees/init-scripts.ts';
import type { SessionOpening } from '../worktrees/opening.ts';
import type { WorktreeService } from '../worktrees/service.ts';
import { createApp } from './app.ts';
import { accessOf, Entrance } from './entrance.ts';
import { askInside, type InsideAnswer, type InsideRequest } from './inside.ts';
import { type Mount, mounter } from './mount.ts';
import { assertNotEncoded, isUnknown, refuseUnknown } from './refuse.ts';
import { diffRoutes, type Files } from './routes/diffs.ts';
import { eventRoutes } from './routes/events.ts';
import { gatewayRoutes } from './routes/gateway.ts';
import { processRoutes } from './routes/processes.ts';
import { type ProviderKnowledge, providerRoutes } from './routes/providers.ts';
import { queueRoutes } from './routes/queue.ts';
import { reviewRoutes } from './routes/reviews.ts';
import { runtimeRoutes, type SelfKnowledge } from './routes/runtime.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { type Teams, teamRoutes } from './routes/teams.ts';
import { approvalRuleRoutes } from './routes/approval-rules.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { worktreeRoutes } from './routes/worktrees.ts';
import { EventStreams } from './sse.ts';
import type { StreamSettings } from './stream-limits.ts';
import { UnderWay } from './under-way.ts';

/** How long the last responses may take when the server stops, in milliseconds. */
const LAST_ANSWERS_MS = 2000;

export interface HttpServer {
  /** The address, `http://HOST:PORT`; empty before the server listens. */
  readonly url: string;
  /** Resolves once the server listens. Throws AppError if it cannot. */
  listen(host: string, port: number): Promise<void>;
  /**
   * Answers a request that another door has let in, with the rights of `holder`. It cannot stream. A refusal is an
   * answer, not an error.
   */
  ask(request: InsideRequest, holder: TokenHolder): Promise<InsideAnswer>;
  /** From now on requests that would change something are refused with `shutting_down`. */
  refuseChanges(): void;
  /** Ends the streams after their stored events, then every connection. */
  close(): Promise<void>;
}

interface HttpServerDependencies {
  access: AccessRules;
  self: SelfKnowledge;
  log: EventLog;
  feed: Feed;
  /** Returns the maximum number of open streams. */
  streamLimits: () => StreamSettings;
  /** The maximum number of open connections, which the available file descriptors may lower. */
  maxConnections: number;
  /** The maximum time for a whole request to arrive, in milliseconds. Its response may take days. */
  requestTimeoutMs: number;
  sessions: SessionService;
  opening: SessionOpening;
  queue: QueueService;
  reviews: ReviewService;
  processes: ProcessService;
  worktrees: WorktreeService;
  initScripts: InitScripts;
  files: Files;
  teams: Teams;
  providers: ProviderKnowledge;
  rules: RuleService;
  tokens: TokenService;
  gateway: ToolGateway;
  keptAnswers: KeptAnswers;
  clock: Clock;
  ids: Ids;
  logger: Logger;
}

/** Returns the HTTP server, not listening yet. */
export function createHttpServer(dependencies: HttpServerDependencies): HttpServer {
  const { access, feed, clock, logger, keptAnswers } = dependencies;
  const streams = new EventStreams({ feed, clock, limits: dependencies.streamLimits });
  const failures = new FailedAuthentications({ clock, logger });
  const requests = new RequestCounts();
  const entrance = new Entrance({ access, failures, requests });
  const app = createApp(dependencies, entrance);
  const underWay = new UnderWay(clock);
  let takesChanges = true;
  let url = '';
  app.addHook('onRequest', async (request, reply) => {
    entrance.begin(request, reply);
    if (!(await entrance.letIn(request, reply))) return reply;
    underWay.add(request.over);
    admit(request, reply, dependencies, takesChanges);
  });
  mountRoutes(mounter(app, { keptAnswers, streams }), dependencies, requests);

  return {
    get url() {
      return url;
    },
    async listen(host, port) {
      url = await listen(app, host, port);
    },
    ask: (request, holder) => askInside(app, request, holder),
    refuseChanges() {
      takesChanges = false;
      // The server stops accepting connections, but open ones may still read. `close` of node:http would also close
      // idle connections, and a request may be on its way on one of them.
      net.Server.prototype.close.call(app.server);
    },
    async close() {
      await streams.end();
      await underWay.over(LAST_ANSWERS_MS);
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
  const isPublic = accessOf(request) === 'public';
  if (!isPublic) reply.header('X-Epoch', self.epoch);
  if (isUnknown(request)) refuseUnknown(request, reply);
  // A keep-alive connection ends with its response, or the server would wait for it.
  if (!takesChanges) reply.header('connection', 'close');
  if (request.method === 'GET' || request.method === 'HEAD') {
    if (!isPublic) reply.header('X-Seq', String(feed.latestSeq));
    return;
  }
  if (!takesChanges)
    throw new AppError('shutting_down', 'the server is stopping: try again when it is back');
  assertNotEncoded(request);
}

function mountRoutes(
  mount: Mount,
  dependencies: HttpServerDependencies,
  requests: RequestCounts,
): void {
  runtimeRoutes(mount, dependencies.self, requests);
  providerRoutes(mount, dependencies.providers);
  sessionRoutes(mount, dependencies.sessions, dependencies.opening);
  queueRoutes(mount, dependencies.queue);
  reviewRoutes(mount, dependencies.reviews);
  processRoutes(mount, dependencies.processes);
  worktreeRoutes(mount, dependencies.worktrees, dependencies.initScripts);
  diffRoutes(mount, dependencies.files);
  teamRoutes(mount, dependencies.teams);
  eventRoutes(mount, { ...dependencies, teams: dependencies.teams.teams });
  approvalRuleRoutes(mount, dependencies.rules);
  tokenRoutes(mount, dependencies.tokens);
  gatewayRoutes(mount, dependencies.gateway);
}

/** Listens and returns the address. Throws AppError if it cannot listen. */
async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    return await app.listen({
      host: host.replace(/^\[(.*)\]$/, '$1'),
      port,
      listenTextResolver: (address) => `listening on ${address}`,
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isTaken = code === 'EADDRINUSE';
    throw new AppError(
      isTaken ? 'conflict' : 'invalid',
      isTaken
        ? `port ${port} is in use: choose another with --port (0 chooses a free one)`
        : `cannot listen on ${host}:${port}: ${message}`,
      { cause: error },
    );
  }
}
