import type { Child } from '../../core/children/supervisor.ts';
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
import type { BoundedLine } from '../bounded-line.ts';
import type { OutputHolder, OutputLine, OutputLines } from '../output-lines.ts';
import {
  Connection,
  type Params,
  type RequestId,
  type ServerRequest,
  isKnown,
  parentOf,
  refused,
  threadOf,
  versionIn,
} from './connection.ts';
import { limitsAfter, type RateLimits } from './usage.ts';

/** The time limit of all requests. Codex answers each soon, also `turn/start`, which it answers before the turn ends. */
const REQUEST_MS = 120_000;
/** The oldest version that the adapter was tested with. */
const OLDEST = '0.150.0';

/** The notifications after which codex no longer has a thread in memory. */
const THREAD_ENDS: ReadonlySet<string> = new Set(['thread/closed', 'thread/deleted']);

/** Takes the messages of a thread. */
export interface Route {
  /** Resolves when the route does not need the thread any more, and none of its turns is left there. */
  readonly free: Promise<void>;
  /** The lines of the output as the session handles them. */
  readonly lines: OutputLines;
  onNotification(method: string, params: Params, line: OutputLine): Promise<void> | undefined;
  asked(request: ServerRequest, line: OutputLine): void;
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
  onLost: (reason: string) => void;
}

type ServerOptions = Pick<Start, 'clock' | 'onUnknown' | 'onVersion' | 'onLost'>;

/** One `codex app-server`, and the route of each of its threads. */
export class AppServer {
  readonly pid: number;
  /** Resolves when it is gone and all its output was read, with why it ended. */
  readonly gone: Promise<string>;
  readonly isLost: () => boolean;
  readonly connection: Connection;
  readonly #child: Child;
  readonly #options: ServerOptions;
  readonly #routes = new Map<string, Route>();
  /** The thread of the session of each subagent, by the thread of the subagent. */
  readonly #callers = new Map<string, string>();
  /** The threads of the subagents of each session. The lists never change. */
  readonly #subagents = new Map<string, readonly string[]>();
  /** The newest limits of the account. Codex reports them just before a turn fails at a limit. */
  rateLimits: RateLimits | null = null;
  #version: string | null = null;
  /** Facts that change between two lines of the output: all saved memories share them. */
  readonly #now = { isRetired: false };
  /** The lowest position from which a session was restored. */
  #restoredAt = Infinity;
  #isUp: boolean;
  #isEnding = false;

  /**
   * `from`: the lowest position in the output from which the sessions of an earlier server of cadre read, which have to be
   * attached in the same tick. Null: the child has just been started.
   */
  constructor(child: Child, options: ServerOptions, from: number | null = null) {
    const { clock, onUnknown, onLost } = options;
    this.#child = child;
    this.#options = options;
    this.#isUp = from !== null;
    this.pid = child.pid;
    const handlers = {
      linesFor: (params: Params) => this.#routeFor(params)?.lines ?? null,
      onLine: (line: BoundedLine, lines: OutputLines | null) => this.#passOthers(line, lines),
      onNotification: (method: string, params: Params, line: OutputLine | null) =>
        this.#hear(method, params, line),
      onRequest: (request: ServerRequest, line: OutputLine | null) => this.#asked(request, line),
      onLost: (threadId: string) =>
        this.#routes.get(threadId)?.lost('sent a message that is too long'),
      onUnknown,
    };
    this.connection = new Connection(child, handlers, from);
    const { readProgress: heard } = this.connection;
    const stderrTail = tailOf(child.stderr);
    // Once the server serves sessions, a line on stderr may be about any of them, so no session is given it.
    const stderr = () => (this.#isUp ? '' : stderrTail());
    this.isLost = lossOf(child, heard);
    this.gone = agentEndOf(child, { heard, stderr, clock });
    void this.gone.then((how) => {
      if (this.#isUp && !this.#isEnding)
        onLost(`the agent ${how}${stderrTail() && `: ${stderrTail()}`}`);
    });
  }

  /** Starts and initializes a server. Throws {@link ProviderError}. */
  static async start(start: Start): Promise<AppServer> {
    const { supervisor, command, env, sandbox = null } = start;
    const args = [...start.args, 'app-server'];
    const child = {
      command,
      args,
      cwd: start.cwd,
      env,
      what: 'codex app-server',
      sandbox,
      outlives: true,
    };
    const server = new AppServer(await startAgent(supervisor, child, 'codex: the agent'), start);
    try {
      const hello = server.connection.request('initialize', {
        clientInfo: { name: 'cadre', title: 'cadre', version },
        capabilities: { experimentalApi: true, requestAttestation: false },
      });
      const answer = await answered(hello, server.#limits);
      server.connection.notify('initialized');
      server.#noteVersion(versionIn(answer));
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

  /** The process, for the lines of a session. It holds the output that any session needs. */
  get holder(): OutputHolder {
    const { outlives } = this.#child;
    return { outlives, acknowledge: (upTo) => this.#acknowledge(upTo) };
  }

  /** Sends a request that codex answers soon, for the session with these lines. Throws as `replyTo` does. */
  ask(method: string, params: object, lines: OutputLines | null = null): Promise<unknown> {
    const answer = this.connection.request(method, params, lines);
    return replyTo({ provider: 'codex', method, answer }, this.#limits);
  }

  /** Begins a turn by a request that codex gets once; `params` is null if an earlier server has sent it. Throws as `ask`. */
  beginTurn(request: number, params: object | null, lines: OutputLines): Promise<unknown> {
    const method = 'turn/start';
    const answer = params
      ? this.connection.requestOnce(request, { method, params }, lines)
      : this.connection.resume(request, lines);
    return replyTo({ provider: 'codex', method, answer }, this.#limits);
  }

  /** Returns the memory of the server for the session of a thread, as data that never changes, but for `now`. */
  save(threadId: string) {
    const subagents = this.#subagents.get(threadId) ?? [];
    return { subagents, rateLimits: this.rateLimits, version: this.#version, now: this.#now };
  }

  /** Continues with what an earlier server of cadre has saved for the session of a thread. `at`: where it had read. */
  restore(
    threadId: string,
    { subagents, rateLimits, version, now }: ReturnType<AppServer['save']>,
    at: number,
  ): void {
    for (const subagent of subagents) this.#noteSubagent(subagent, threadId);
    this.#now.isRetired ||= now.isRetired;
    // A session with a lower position was restored before: all lines after that position are read again.
    if (at > this.#restoredAt) return;
    this.#restoredAt = at;
    this.rateLimits = rateLimits;
    this.#noteVersion(version);
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

  /** Whether another server takes over its sessions, each as soon as it is at no turn. */
  get isRetired(): boolean {
    return this.#now.isRetired;
  }

  retire(): void {
    this.#now.isRetired = true;
    for (const route of this.#routes.values()) route.retire();
  }

  /** Ends it and all it started. It goes by itself when its input ends, also in the middle of a turn. */
  end(graceMs: number): Promise<void> {
    // A server that was lost before has ended by itself, and `onLost` has to be called.
    this.#isEnding ||= !this.isLost();
    const { clock } = this.#options;
    return endAgent(this.#child, { graceMs, isIdle: true, clock });
  }

  get #limits() {
    return { ms: REQUEST_MS, clock: this.#options.clock, gone: this.gone };
  }

  #noteVersion(version: string | null): void {
    this.#version = version;
    this.#options.onVersion(version);
  }

  #noteSubagent(subagent: string, threadId: string): void {
    if (this.#callers.get(subagent) === threadId) return;
    this.#callers.set(subagent, threadId);
    this.#subagents.set(threadId, [...(this.#subagents.get(threadId) ?? []), subagent]);
  }

  /** A thread has ended. The subagents of a session that has left it are forgotten with it. */
  #forgetThread(thread: string): void {
    const caller = this.#callers.get(thread);
    if (caller !== undefined) {
      this.#callers.delete(thread);
      const others = (this.#subagents.get(caller) ?? []).filter((one) => one !== thread);
      if (others.length > 0) this.#subagents.set(caller, others);
      else this.#subagents.delete(caller);
    }
    if (this.#routes.has(thread)) return;
    for (const subagent of this.#subagents.get(thread) ?? []) this.#callers.delete(subagent);
    this.#subagents.delete(thread);
  }

  /** No session needs the output before an offset, unless one has stored a lower position. */
  #acknowledge(upTo: number): void {
    const needed = [...this.#routes.values()].flatMap(({ lines }) => lines.needed ?? []);
    this.#child.acknowledge(Math.min(upTo, ...needed));
  }

  /** The sessions that a line is not for read on after it. */
  #passOthers(line: BoundedLine, own: OutputLines | null): void {
    if (!own && this.#child.outlives) this.#acknowledge(line.begin);
    for (const { lines } of this.#routes.values()) if (lines !== own) lines.pass(line);
  }

  #hear(method: string, params: Params, line: OutputLine | null): Promise<void> | undefined {
    const { onUnknown } = this.#options;
    if (!isKnown(method)) onUnknown();
    if (method === 'account/rateLimits/updated')
      this.rateLimits = limitsAfter(this.rateLimits, params);
    const parent = parentOf(method, params);
    if (parent) this.#noteSubagent(parent.child, this.#callers.get(parent.thread) ?? parent.thread);
    const thread = threadOf(params) ?? '';
    if (THREAD_ENDS.has(method)) this.#forgetThread(thread);
    const route = this.#routes.get(thread);
    return line ? route?.onNotification(method, params, line) : undefined;
  }

  /** Messages of a subagent are for the session that it works for. */
  #routeFor(params: Params): Route | undefined {
    const thread = threadOf(params) ?? '';
    return this.#routes.get(thread) ?? this.#routes.get(this.#callers.get(thread) ?? '');
  }

  #asked(request: ServerRequest, line: OutputLine | null): void {
    if (line?.isDone) return;
    const { id, method, params } = request;
    const route = this.#routeFor(params);
    if (method === 'currentTime/read') {
      void this.#answerTime(id, route?.lines ?? null, line?.hold() ?? null);
    } else if (route && line) {
      route.asked(request, line);
    } else {
      this.#options.onUnknown();
      this.connection.answer(id, refused(`no session can answer ${method}`));
    }
  }

  async #answerTime(
    id: RequestId,
    lines: OutputLines | null,
    hold: Disposable | null,
  ): Promise<void> {
    // The row of an answer is written with a position after the line of the request.
    await Promise.resolve();
    const result = { currentTimeAt: Math.floor(this.#options.clock.now() / 1000) };
    this.connection.answer(id, { result }, lines, { hold });
  }
}
