import type { Session } from '../api/sessions.ts';
import type { Clock } from '../lib/clock.ts';
import { yieldToEventLoop } from '../lib/slices.ts';
import type { Agent, AgentSink, Provider } from '../providers/provider.ts';
import type { TurnOutput } from './output.ts';

/** How long an agent has to end by itself before it is killed. */
const AGENT_GRACE_MS = 2000;

/** A live agent, and the outputs that its updates are written to. */
export interface LiveAgent {
  readonly session: Session;
  /** Set once it has been opened. Its updates may come before that, and have an output by then. */
  agent: Agent;
  /** The output of the turn that the agent is at. */
  output: TurnOutput | undefined;
  /** The output of what the agent says outside a turn. */
  aside: TurnOutput | undefined;
}

/** What the pool knows of one live agent. */
interface Entry {
  live: LiveAgent;
  /** How many turns lease the agent: the next turn may lease it before the last one has released it. */
  leases: number;
  /** Set while no turn leases the agent: since when, and the timer that unloads it. */
  idle: { since: number; unload: Disposable } | undefined;
}

interface AgentPoolDependencies {
  clock: Clock;
  maxLive: () => number;
  idleTimeoutMs: () => number;
  providerOf: (session: Session) => Provider;
  /** Called when an agent has exited, for whatever reason. */
  onGone: (live: LiveAgent) => void;
}

/**
 * The live agents, never more than `maxLive` at once. An agent is ended after the idle timeout; where the pool is full,
 * the agent that has been idle for longest is ended for the next one. An agent whose session could not be resumed is
 * never ended for being idle.
 */
export class AgentPool {
  readonly #given: AgentPoolDependencies;
  readonly #entries = new Map<string, Entry>();
  /** Sessions that get no agent until the promise resolves: their last agent is ending, or `whileIdle` runs. */
  readonly #barred = new Map<string, Promise<void>>();
  /** Leases that wait for room, in order. */
  readonly #waiting: PromiseWithResolvers<void>[] = [];
  /** How many agents are starting or ending: they take room too. */
  #moving = 0;
  /** How many of these are ending to make room. */
  #leaving = 0;
  /** The start of a process blocks the event loop for milliseconds: each of many starts gets a turn of it to itself. */
  #lastStart = Promise.resolve();

  constructor(given: AgentPoolDependencies) {
    this.#given = given;
  }

  /** The live agent of a session, busy or not. */
  find(sessionId: string): LiveAgent | undefined {
    return this.#entries.get(sessionId)?.live;
  }

  /** How many agents of a provider are live. */
  count(provider: Session['provider']): number {
    return [...this.#entries.values()].filter(({ live }) => live.session.provider === provider)
      .length;
  }

  /**
   * The agent of a session, started where it has none, once there is room; it is busy until released.
   * Throws what starting throws, or the signal's reason.
   */
  async lease(
    session: Session,
    sinkFor: (live: LiveAgent) => AgentSink,
    signal: AbortSignal,
  ): Promise<LiveAgent> {
    const known = this.#entries.get(session.id);
    if (known) {
      known.idle?.unload[Symbol.dispose]();
      known.idle = undefined;
      known.leases++;
      return known.live;
    }
    const provider = this.#given.providerOf(session);
    await this.#barred.get(session.id);
    await this.#room(signal);
    this.#lastStart = this.#lastStart.then(yieldToEventLoop);
    try {
      await this.#lastStart;
      return await this.#open(session, provider, sinkFor, signal);
    } finally {
      this.#moving--;
      this.admit();
    }
  }

  /** Ends the lease of one turn; without any, the idle timeout begins. */
  release(live: LiveAgent): void {
    const entry = this.#entries.get(live.session.id);
    if (entry?.live !== live || --entry.leases > 0) return;
    // Its session would be lost with the agent.
    if (!live.agent.canResume) return;
    const unload = this.#given.clock.after(
      this.#given.idleTimeoutMs(),
      () => void this.end(live.session.id),
    );
    entry.idle = { since: this.#given.clock.monotonic(), unload };
    this.admit();
  }

  /**
   * Admits as many waiting leases as there is room for. Where more wait, or the limit was lowered, the agents that have
   * been idle for longest are ended. To be called when the limit has changed.
   */
  admit(): void {
    const max = this.#given.maxLive();
    while (this.#waiting.length > 0 && this.#entries.size + this.#moving < max) {
      this.#moving++;
      this.#waiting.shift()?.resolve();
    }
    while (this.#waiting.length > this.#leaving || this.#entries.size > max) {
      const longest = this.#longestIdle();
      if (longest === undefined) return;
      this.#leaving++;
      void this.#end(longest, AGENT_GRACE_MS, () => this.#leaving--);
    }
  }

  /** Ends the agent of a session, if it has one; resolves once the agent has exited. */
  async end(sessionId: string, graceMs = AGENT_GRACE_MS): Promise<void> {
    const entry = this.#entries.get(sessionId);
    if (entry) await this.#end(entry, graceMs);
    else await this.#barred.get(sessionId);
  }

  /** Runs `work` while the session has no agent and gets none; undefined, and `work` is not run, where it has one. */
  async whileIdle<T>(sessionId: string, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#entries.has(sessionId) || this.#barred.has(sessionId)) return undefined;
    const done = Promise.withResolvers<void>();
    this.#barred.set(sessionId, done.promise);
    try {
      return await work();
    } finally {
      this.#barred.delete(sessionId);
      done.resolve();
    }
  }

  /** Ends every agent; resolves once all have exited. */
  async endAll(graceMs = AGENT_GRACE_MS): Promise<void> {
    const ids = [...this.#entries.keys(), ...this.#barred.keys()];
    await Promise.all(ids.map((id) => this.end(id, graceMs)));
  }

  /** `after` runs before the next lease is admitted. */
  async #end(entry: Entry, graceMs: number, after: () => void = () => undefined): Promise<void> {
    const { id } = entry.live.session;
    const ended = Promise.withResolvers<void>();
    this.#forget(entry);
    this.#barred.set(id, ended.promise);
    this.#moving++;
    try {
      await entry.live.agent.end(graceMs);
    } finally {
      this.#barred.delete(id);
      this.#moving--;
      after();
      this.admit();
      ended.resolve();
    }
  }

  async #open(
    session: Session,
    provider: Provider,
    sinkFor: (live: LiveAgent) => AgentSink,
    signal: AbortSignal,
  ): Promise<LiveAgent> {
    const live = { session, output: undefined, aside: undefined } as unknown as LiveAgent;
    live.agent = await provider.open(session, sinkFor(live), signal);
    const entry: Entry = { live, leases: 1, idle: undefined };
    this.#entries.set(session.id, entry);
    void live.agent.gone.then(() => {
      this.#forget(entry);
      this.admit();
      this.#given.onGone(live);
    });
    return live;
  }

  #forget(entry: Entry): void {
    entry.idle?.unload[Symbol.dispose]();
    const { id } = entry.live.session;
    if (this.#entries.get(id) === entry) this.#entries.delete(id);
  }

  /** Resolves when there is room for one more agent, which is taken at once. First come, first served. */
  async #room(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const admitted = Promise.withResolvers<void>();
    const leave = () => {
      const at = this.#waiting.indexOf(admitted);
      if (at >= 0) this.#waiting.splice(at, 1);
      admitted.reject(signal.reason as Error);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.push(admitted);
    this.admit();
    try {
      await admitted.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #longestIdle(): Entry | undefined {
    const idle = [...this.#entries.values()].filter((entry) => entry.idle !== undefined);
    return idle.toSorted((a, b) => (a.idle?.since ?? 0) - (b.idle?.since ?? 0))[0];
  }
}
