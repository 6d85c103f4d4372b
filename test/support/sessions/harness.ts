import { cpSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import type { Approval } from '../../../src/api/approvals.ts';
import type { RecoverySummary } from '../../../src/api/runtime.ts';
import type { Session, Turn } from '../../../src/api/sessions.ts';
import { onTestFinished } from 'vitest';
import { settle } from '../settle.ts';
import { SessionTokens } from '../../../src/core/access/session-tokens.ts';
import { openRuntime, type TestRuntime, type TestRuntimeOptions } from '../runtime.ts';
import { isEnd, Watch } from '../providers/watch.ts';
import { openForTest, shared } from '../shared.ts';
import { tempDirectory } from '../temp.ts';
import { ManualClock } from '../manual-clock.ts';
import { withTimeout } from './with-timeout.ts';
import {
  completed,
  type ScriptedOptions,
  type ScriptedProvider,
  scriptedProvider,
  type ScriptedTurn,
} from '../scripted-provider.ts';
import type { UntypedEvent } from '../untyped-events.ts';

/** An HTTP response with a parsed body. */
export interface Reply<T> {
  status: number;
  headers: Headers;
  body: T;
}

/** The envelope of a tool call: its result or its error. */
export interface ToolReply<T = unknown> {
  ok: boolean;
  result: T;
  error: { code: string; message: string };
}

/** The body of an error response. */
export type Refusal = { error: string; code?: string };

export type HarnessOptions = Omit<TestRuntimeOptions, 'providers' | 'clock' | 'logTo'> & {
  agents?: ScriptedOptions;
  clock?: ManualClock;
};

/** A runtime in this process with scripted agents, and the calls that tests make. */
export interface Harness {
  given: TestRuntime;
  provider: ScriptedProvider;
  clock: ManualClock;
  directory: string;
  post<T = Refusal>(
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply<T>>;
  get<T = Refusal>(path: string): Promise<Reply<T>>;
  patch<T = Refusal>(path: string, body: unknown): Promise<Reply<T>>;
  del<T = Refusal>(path: string): Promise<Reply<T>>;
  /** Opens a session; throws unless the status is 200. */
  open(more?: object): Promise<Session>;
  /** Calls a tool with the token of the session's agent. */
  callTool<T = unknown>(
    session: { id: string },
    tool: string,
    args?: object,
    more?: object,
  ): Promise<ToolReply<T>>;
  /** Returns the token of the session's agent. */
  tokenOf(session: { id: string }): string;
  /** Sends a turn: a text, or a whole request body. */
  send(
    session: { id: string },
    body: string | object,
  ): Promise<Reply<Refusal & { turn_id: string }>>;
  /** Sends a text, and waits until the agent has received it. */
  startTurn(session: { id: string }, text?: string): Promise<ScriptedTurn>;
  /** Opens a session whose agent has received a turn. */
  atWork(
    more?: object,
  ): Promise<{ harness: Harness; session: Session; turn: ScriptedTurn; turnId: string }>;
  /** Ends the running turn of a session, and waits for its end. */
  complete(turn: ScriptedTurn): Promise<UntypedEvent>;
  session(id: string): Promise<Session>;
  turn(sessionId: string, turnId: string): Promise<Turn>;
  approvals(query?: string): Promise<Approval[]>;
  /** Resolves with the n-th approval of a session, once it is requested. */
  asked(sessionId: string, nth?: number): Promise<Approval>;
  decide(
    approval: Pick<Approval, 'id' | 'session_id'>,
    decision: string,
    more?: object,
  ): Promise<Reply<Approval & Refusal>>;
  interrupt(sessionId: string, turnId: string): Promise<Reply<Turn & Refusal>>;
  close(sessionId: string, reason?: string): Promise<Reply<Session & Refusal>>;
  recovery(): Promise<RecoverySummary>;
  /** Returns the events of a session (or of all sessions), without the deltas of closed items. */
  events(sessionId?: string): Promise<UntypedEvent[]>;
  /** The events that the stream has delivered so far. */
  readonly seen: readonly UntypedEvent[];
  /** Resolves with an event, old or new, that matches. */
  until(matches: (event: UntypedEvent) => boolean): Promise<UntypedEvent>;
  /** Resolves once so many events of a kind have arrived. */
  times(kind: string, count: number): Promise<void>;
  /** Resolves with the first log line, old or new, that contains a text. */
  logged(text: string): Promise<Record<string, unknown>>;
}

/** Runs `test` on a new runtime (or on the data of a killed one); always ends it afterwards. */
export async function withHarness<T>(
  test: (harness: Harness) => Promise<T>,
  options: HarnessOptions = {},
): Promise<T> {
  const { agents, clock = new ManualClock(), ...rest } = options;
  await using own = tempDirectory('harness');
  const provider = scriptedProvider(agents);
  const log = new LogLines();
  const sessionTokens = new SessionTokens();
  const tokenOf = ({ id }: { id: string }) => sessionTokens.of(id);
  const given = await openRuntime(options.directory ?? path.join(own.path, 'data'), {
    ...rest,
    clock,
    providers: [provider],
    sessionTokens,
    logTo: log.sink,
  });
  const events = new Watch(given.client, undefined, 8000);
  const calls = callsOf(given, provider, events);
  const harness: Harness = {
    given,
    provider,
    clock,
    directory: given.directory,
    ...calls,
    atWork: async (more) => ({ harness, ...(await calls.atWork(more)) }),
    tokenOf,
    async callTool<T>(session: { id: string }, tool: string, args = {}, more = {}) {
      const response = await fetch(new URL('/v1/mcp/invoke', given.url), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${tokenOf(session)}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ tool_name: tool, caller_agent_id: session.id, args, ...more }),
      });
      return (await response.json()) as ToolReply<T>;
    },
    seen: events.events,
    times: (kind, count) => events.times((event) => event.kind === kind, count),
    logged: (text) => log.until(text),
  };
  try {
    return await test(harness);
  } finally {
    await events.stop();
    given.client.close();
    provider.drop();
    clock.runFree();
    await given.runtime.stop(AbortSignal.abort());
  }
}

/** Opens a harness, which is closed when the test has finished. */
export function testHarness(options?: HarnessOptions): Promise<Harness> {
  return openForTest((use) => withHarness(use, options));
}

/** Opens such a harness with a session. */
export async function testSession(options?: HarnessOptions, more?: object) {
  const harness = await testHarness(options);
  return { harness, session: await harness.open(more) };
}

/** Opens such a harness with a session whose agent has received a turn. */
export async function testTurn(options?: HarnessOptions) {
  return (await testHarness(options)).atWork();
}

/** One runtime for all tests of a `describe`. Each test opens its own sessions. */
export function sharedHarness(options: HarnessOptions = {}): () => Harness {
  return shared('harness', (use) => withHarness(use, options));
}

/** The data of a runtime that was killed. */
export interface Killed<T> extends AsyncDisposable {
  directory: string;
  /** The result of the test on the killed runtime. */
  left: T;
  /** Time of the kill, by the runtime's clock. */
  at: number;
}

/** Runs `test` on a runtime, and copies its data as a SIGKILL would leave them at the end of `test`. */
export async function killed<T>(
  test: (harness: Harness) => Promise<T>,
  options: HarnessOptions = {},
): Promise<Killed<T>> {
  const kept = tempDirectory('killed');
  const directory = path.join(kept.path, 'data');
  try {
    return await withHarness(async (harness) => {
      const left = await test(harness);
      cpSync(harness.directory, directory, { recursive: true });
      const [at, dispose] = [harness.clock.now(), () => kept[Symbol.asyncDispose]()];
      return { directory, left, at, [Symbol.asyncDispose]: dispose };
    }, options);
  } catch (error) {
    kept[Symbol.dispose]();
    throw error;
  }
}

/** Opens a harness on the data of a killed runtime, with new agents that do not remember the old ones. */
export async function afterCrash<T>(
  before: (harness: Harness) => Promise<T>,
  options: { before?: HarnessOptions; after?: HarnessOptions } = {},
): Promise<[harness: Harness, left: T]> {
  const { directory, left, at, ...dead } = await killed(before, options.before);
  onTestFinished(dead[Symbol.asyncDispose]);
  const clock = new ManualClock(at);
  return [await testHarness({ clock, ...options.after, directory }), left];
}

function callsOf(given: TestRuntime, provider: ScriptedProvider, watch: Watch) {
  const call = async <T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply<T>> => {
    const response = await fetch(new URL(path, given.url), {
      method,
      headers: {
        authorization: `Bearer ${given.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return {
      status: response.status,
      headers: response.headers,
      body: (response.status === 204 ? undefined : await response.json()) as T,
    };
  };
  const get = <T = Refusal>(path: string) => call<T>('GET', path);
  const del = <T = Refusal>(path: string) => call<T>('DELETE', path);
  const patch = <T = Refusal>(path: string, body: unknown) => call<T>('PATCH', path, body);
  const post = <T = Refusal>(path: string, body?: unknown, headers?: Record<string, string>) =>
    call<T>('POST', path, body, headers);
  const send = (session: { id: string }, body: string | object) =>
    post<Refusal & { turn_id: string }>(
      `/v1/sessions/${session.id}/turns`,
      typeof body === 'string' ? { input: [{ type: 'text', text: body }] } : body,
    );
  const session = async (id: string) => (await get<Session>(`/v1/sessions/${id}`)).body;
  const open = async (more: object = {}) => {
    const opened = await post<Session>('/v1/sessions', {
      provider: 'acp',
      permission_mode: 'require_approval',
      ...more,
    });
    if (opened.status !== 200) throw new Error(JSON.stringify(opened.body));
    return opened.body;
  };
  const startTurn = async (session: { id: string }, text = 'go') => {
    const { status, body } = await send(session, text);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return provider.nextTurn();
  };
  const until = async (matches: (event: UntypedEvent) => boolean) =>
    watch.events.findLast(matches) ?? (await watch.until('such event', matches));
  return {
    get,
    post,
    patch,
    del,
    send,
    open,
    startTurn,
    session,
    until,
    async atWork(more: object = {}) {
      const opened = await open(more);
      const turn = await startTurn(opened);
      return { session: opened, turn, turnId: (await session(opened.id)).active_turn_id ?? '' };
    },
    async complete(turn: ScriptedTurn) {
      const { active_turn_id } = await session(turn.session.id);
      turn.end(completed);
      return until(endOf(active_turn_id ?? ''));
    },
    turn: async (sessionId: string, turnId: string) =>
      (await get<Turn>(`/v1/sessions/${sessionId}/turns/${turnId}`)).body,
    approvals: async (query = '') => (await get<Approval[]>(`/v1/approvals${query}`)).body,
    async asked(sessionId: string, nth = 1) {
      const isOne = ({ kind, session_id }: UntypedEvent) =>
        kind === 'approval.requested' && session_id === sessionId;
      await watch.times(isOne, nth);
      return watch.events.filter(isOne)[nth - 1]?.payload.approval as Approval;
    },
    decide: (
      { id, session_id }: Pick<Approval, 'id' | 'session_id'>,
      decision: string,
      more: object = {},
    ) =>
      post<Approval & Refusal>(`/v1/sessions/${session_id}/approvals/${id}`, { decision, ...more }),
    interrupt: (sessionId: string, turnId: string) =>
      post<Turn & Refusal>(`/v1/sessions/${sessionId}/turns/${turnId}/interrupt`),
    close: (sessionId: string, reason?: string) =>
      post<Session & Refusal>(
        `/v1/sessions/${sessionId}/close`,
        reason === undefined ? undefined : { reason },
      ),
    recovery: async () => (await get<RecoverySummary>('/v1/diagnostics/recovery')).body,
    async events(sessionId?: string) {
      const scope = sessionId === undefined ? '/v1/events' : `/v1/sessions/${sessionId}/events`;
      return settle((await get<UntypedEvent[]>(`${scope}?limit=10000`)).body);
    },
  };
}

/** Returns the kinds of events, in order. */
export function kinds(events: readonly UntypedEvent[]): string[] {
  return events.map(({ kind }) => kind);
}

/** Returns a predicate for the event that ends a turn. */
export function endOf(turnId: string): (event: UntypedEvent) => boolean {
  return (event) => event.turn_id === turnId && isEnd(event);
}

/** The log of a runtime, line by line. */
class LogLines {
  readonly sink = new PassThrough();
  readonly #lines: Record<string, unknown>[] = [];
  readonly #asked = new Set<() => void>();

  constructor() {
    let rest = '';
    this.sink.setEncoding('utf8').on('data', (part: string) => {
      const lines = (rest + part).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#lines.push(JSON.parse(line) as Record<string, unknown>);
      for (const look of this.#asked) look();
    });
  }

  until(text: string): Promise<Record<string, unknown>> {
    const found = new Promise<Record<string, unknown>>((resolve) => {
      const look = () => {
        const line = this.#lines.find(({ msg }) => String(msg).includes(text));
        if (!line) return;
        this.#asked.delete(look);
        resolve(line);
      };
      this.#asked.add(look);
      look();
    });
    return withTimeout(found, `a log line "${text}"`);
  }
}
