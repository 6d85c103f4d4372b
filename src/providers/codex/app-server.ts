import type { Child, Supervisor } from '../../children/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import { version } from '../../lib/self.ts';
import { answered, endAgent, endOf, replyTo, startAgent, tailOf } from '../agent-process.ts';
import { ProviderError } from '../provider.ts';
import { Connection, type Params, type RequestId } from './connection.ts';
import { isKnown, parentOf, threadOf, versionIn } from './messages.ts';

/** Anything but a turn is answered soon, also on a machine that is busy. */
const REQUEST_MS = 120_000;
/** The oldest version that was tried. */
const OLDEST = '0.150.0';

/** Who hears what is said of a thread. */
export interface Route {
  /** Resolves when it needs the thread no longer, and no turn of its is left there. */
  readonly free: Promise<void>;
  hear(method: string, params: Params): Promise<void> | undefined;
  asked(id: RequestId, method: string, params: Params): void;
  /** A message was lost: nobody knows any more how things are with the thread. */
  lost(why: string): void;
  /** It should go when it is at no turn: another server takes its place. */
  retire(): void;
}

export interface Start {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  supervisor: Supervisor;
  clock: Clock;
  onUnknown: () => void;
  /** Told what it says of itself. */
  onVersion: (version: string | null) => void;
  /** Told what it said last on stderr, of which some may be of commands that it ran, when it has ended unasked. */
  onLost: (said: string) => void;
}

/** One `codex app-server`, and who hears of which of its threads. */
export class AppServer {
  readonly pid: number;
  /** Resolves when it is gone and all its output was read, with why it ended. */
  readonly gone: Promise<string>;
  readonly #child: Child;
  readonly #clock: Clock;
  readonly #connection: Connection;
  readonly #onUnknown: () => void;
  readonly #routes = new Map<string, Route>();
  /** The threads of subagents, by the thread that began them. */
  readonly #parents = new Map<string, string>();
  #isUp = false;
  #isEnding = false;

  private constructor(child: Child, { clock, onUnknown, onLost }: Start) {
    this.#child = child;
    this.#clock = clock;
    this.#onUnknown = onUnknown;
    this.pid = child.pid;
    this.#connection = new Connection(child, {
      onNotification: (method, params) => this.#hear(method, params),
      onRequest: (id, method, params) => this.#asked(id, method, params),
      onLost: (threadId) =>
        this.#routes.get(threadId)?.lost('said something that is too long to be read'),
      onUnknown,
    });
    const { heard } = this.#connection;
    const said = tailOf(child.stderr);
    // Once it serves sessions, what it says there may be of any of them: no session is told.
    const stderr = () => (this.#isUp ? '' : said());
    this.gone = endOf(child, { heard, stderr, clock });
    void this.gone.then((how) => {
      if (this.#isUp && !this.#isEnding) onLost(`it ${how}${said() && `; it said: ${said()}`}`);
    });
  }

  /** Starts and initializes one. Throws {@link ProviderError}. */
  static async start(start: Start): Promise<AppServer> {
    const { supervisor, command, env } = start;
    const args = [...start.args, 'app-server'];
    const child = { command, args, cwd: process.cwd(), env, what: 'codex app-server' };
    const server = new AppServer(await startAgent(supervisor, child, 'codex: it'), start);
    try {
      const hello = server.#connection.request('initialize', {
        clientInfo: { name: 'cadre', title: 'cadre', version },
        capabilities: { experimentalApi: true, requestAttestation: false },
      });
      const said = await answered(hello, server.#limits);
      server.#connection.notify('initialized');
      start.onVersion(versionIn(said));
      server.#isUp = true;
      return server;
    } catch (error) {
      await server.end(0);
      throw new ProviderError(
        'provider_unavailable',
        `codex: "${command} app-server" did not come up: ${(error as Error).message}; ` +
          `cadre needs codex ${OLDEST} or newer: see "${command} --version"`,
        { cause: error },
      );
    }
  }

  /** Sends a request that codex answers soon. Throws as `replyTo` does. */
  ask(method: string, params: object): Promise<unknown> {
    const answer = this.#connection.request(method, params);
    return replyTo({ provider: 'codex', method, answer }, this.#limits);
  }

  answer(id: RequestId, result: object): void {
    this.#connection.answer(id, result);
  }

  refuse(id: RequestId, why: string): void {
    this.#connection.refuse(id, why);
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

  /** Whether turns are left of agents that are gone. */
  get hasRoutes(): boolean {
    return this.#routes.size > 0;
  }

  retire(): void {
    for (const route of this.#routes.values()) route.retire();
  }

  /** Ends it and all it started. It goes by itself when its input ends, also in the middle of a turn. */
  end(graceMs: number): Promise<void> {
    this.#isEnding = true;
    return endAgent(this.#child, { graceMs, isIdle: true, clock: this.#clock });
  }

  get #limits() {
    return { ms: REQUEST_MS, clock: this.#clock, gone: this.gone };
  }

  #hear(method: string, params: Params): Promise<void> | undefined {
    if (!isKnown(method)) this.#onUnknown();
    const parent = parentOf(method, params);
    if (parent) this.#parents.set(parent.child, parent.thread);
    return this.#routes.get(threadOf(params) ?? '')?.hear(method, params);
  }

  /** What a subagent asks is asked by whoever has it. */
  #asked(id: RequestId, method: string, params: Params): void {
    let thread = threadOf(params);
    while (thread !== undefined && !this.#routes.has(thread)) thread = this.#parents.get(thread);
    const route = this.#routes.get(thread ?? '');
    if (method === 'currentTime/read') {
      this.answer(id, { currentTimeAt: Math.floor(this.#clock.now() / 1000) });
    } else if (route) {
      route.asked(id, method, params);
    } else {
      this.#onUnknown();
      this.refuse(id, `cadre has nobody to answer ${method}`);
    }
  }
}
