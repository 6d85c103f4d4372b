import type { Child } from '../../core/children/supervisor.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { version } from '../../core/lib/self.ts';
import {
  answered,
  endAgent,
  agentEndOf,
  lossOf,
  type ProgramOptions,
  replyTo,
  startAgent,
  tailOf,
} from '../agent-process.ts';
import { unavailable } from '../provider.ts';
import {
  Connection,
  type Params,
  type RequestId,
  isKnown,
  parentOf,
  threadOf,
  versionIn,
} from './connection.ts';
import { limitsAfter, type RateLimits } from './usage.ts';

/** The time limit of all requests. Codex answers each soon, also `turn/start`, which it answers before the turn ends. */
const REQUEST_MS = 120_000;
/** The oldest version that the adapter was tested with. */
const OLDEST = '0.150.0';

/** Takes the messages of a thread. */
export interface Route {
  /** Resolves when the route does not need the thread any more, and none of its turns is left there. */
  readonly free: Promise<void>;
  onNotification(method: string, params: Params): Promise<void> | undefined;
  asked(id: RequestId, method: string, params: Params): void;
  /** A message was lost, so the state of the thread is unknown. */
  lost(why: string): void;
  /** Another server takes over: the route leaves the thread as soon as it is at no turn. */
  retire(): void;
}

interface Start extends ProgramOptions {
  cwd: string;
  onUnknown: () => void;
  /** Called with the version that the server names; null where it names none. */
  onVersion: (version: string | null) => void;
  /** Called when the server has ended unasked, with the end of its stderr, where commands of it may have written, too. */
  onLost: (said: string) => void;
}

/** One `codex app-server`, and the route of each of its threads. */
export class AppServer {
  readonly pid: number;
  /** Resolves when it is gone and all its output was read, with why it ended. */
  readonly gone: Promise<string>;
  readonly isLost: () => boolean;
  readonly #child: Child;
  readonly #clock: Clock;
  readonly connection: Connection;
  readonly #onUnknown: () => void;
  readonly #routes = new Map<string, Route>();
  /** The thread that began each thread of a subagent. */
  readonly #parents = new Map<string, string>();
  /** The newest limits of the account. Codex reports them just before a turn fails at a limit. */
  rateLimits: RateLimits | null = null;
  #isUp = false;
  #isEnding = false;

  private constructor(child: Child, { clock, onUnknown, onLost }: Start) {
    this.#child = child;
    this.#clock = clock;
    this.#onUnknown = onUnknown;
    this.pid = child.pid;
    this.connection = new Connection(child, {
      onNotification: (method, params) => this.#hear(method, params),
      onRequest: (id, method, params) => this.#asked(id, method, params),
      onLost: (threadId) => this.#routes.get(threadId)?.lost('sent a message that is too long'),
      onUnknown,
    });
    const { readProgress: heard } = this.connection;
    const said = tailOf(child.stderr);
    // Once the server serves sessions, a line on stderr may be about any of them, so no session is given it.
    const stderr = () => (this.#isUp ? '' : said());
    this.isLost = lossOf(child, heard);
    this.gone = agentEndOf(child, { heard, stderr, clock });
    void this.gone.then((how) => {
      if (this.#isUp && !this.#isEnding) onLost(`the agent ${how}${said() && `: ${said()}`}`);
    });
  }

  /** Starts and initializes a server. Throws {@link ProviderError}. */
  static async start(start: Start): Promise<AppServer> {
    const { supervisor, command, env, sandbox = null } = start;
    const args = [...start.args, 'app-server'];
    const child = { command, args, cwd: start.cwd, env, what: 'codex app-server', sandbox };
    const server = new AppServer(await startAgent(supervisor, child, 'codex: the agent'), start);
    try {
      const hello = server.connection.request('initialize', {
        clientInfo: { name: 'cadre', title: 'cadre', version },
        capabilities: { experimentalApi: true, requestAttestation: false },
      });
      const said = await answered(hello, server.#limits);
      server.connection.notify('initialized');
      start.onVersion(versionIn(said));
      server.#isUp = true;
      return server;
    } catch (error) {
      await server.end(0);
      throw unavailable(
        `codex: "${command} app-server" did not start (${(error as Error).message}): ` +
          `check that "${command} --version" prints ${OLDEST} or newer`,
        error,
      );
    }
  }

  /** Sends a request that codex answers soon. Throws as `replyTo` does. */
  ask(method: string, params: object): Promise<unknown> {
    const answer = this.connection.request(method, params);
    return replyTo({ provider: 'codex', method, answer }, this.#limits);
  }

  routeOf(threadId: string): Route | undefined {
    return this.#routes.get(threadId);
  }

  join(threadId: string, route: Route): void {
    this.#routes.set(threadId, route);
  }

  leave(threadId: string, route: Route): void {
    if (this.#routes.get(threadId) === route) this.#routes.delete(threadId);
  }

  get hasRoutes(): boolean {
    return this.#routes.size > 0;
  }

  retire(): void {
    for (const route of this.#routes.values()) route.retire();
  }

  /** Ends it and all it started. It goes by itself when its input ends, also in the middle of a turn. */
  end(graceMs: number): Promise<void> {
    // A server that was lost before has ended by itself, and `onLost` has to be called.
    this.#isEnding ||= !this.isLost();
    return endAgent(this.#child, { graceMs, isIdle: true, clock: this.#clock });
  }

  get #limits() {
    return { ms: REQUEST_MS, clock: this.#clock, gone: this.gone };
  }

  #hear(method: string, params: Params): Promise<void> | undefined {
    if (!isKnown(method)) this.#onUnknown();
    if (method === 'account/rateLimits/updated')
      this.rateLimits = limitsAfter(this.rateLimits, params);
    const parent = parentOf(method, params);
    if (parent) this.#parents.set(parent.child, parent.thread);
    return this.#routes.get(threadOf(params) ?? '')?.onNotification(method, params);
  }

  /** A request of a subagent goes to the route of the thread that began the subagent. */
  #asked(id: RequestId, method: string, params: Params): void {
    let thread = threadOf(params);
    while (thread !== null && !this.#routes.has(thread)) thread = this.#parents.get(thread) ?? null;
    const route = this.#routes.get(thread ?? '');
    if (method === 'currentTime/read') {
      this.connection.answer(id, { currentTimeAt: Math.floor(this.#clock.now() / 1000) });
    } else if (route) {
      route.asked(id, method, params);
    } else {
      this.#onUnknown();
      this.connection.refuse(id, `no session can answer ${method}`);
    }
  }
}
