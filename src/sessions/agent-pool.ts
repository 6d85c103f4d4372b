import type { Session } from '../api/sessions.ts';
import type { Clock } from '../lib/clock.ts';
import { yieldToEventLoop } from '../lib/slices.ts';
import type { Agent, AgentSink, Provider } from '../providers/provider.ts';
import type { TurnOutput } from './output.ts';

/** How long an agent has to end by itself before it is killed. */
const AGENT_GRACE_MS = 2000;

/** A live agent, and where what it says goes just now. */
export interface LiveAgent {
  readonly session: Session;
  /** Set once it has been opened; what it says before that has its place already. */
  agent: Agent;
  /** The output of the turn it is at. */
  output: TurnOutput | undefined;
  /** What it says outside a turn. */
  aside: TurnOutput | undefined;
}

interface Place {
  live: LiveAgent;
  /** How many turns have it: the next may have it before the last one has let go. */
  leases: number;
  /** Set while it is at no turn: since when, and what unloads it. */
  idle: { since: number; unload: Disposable } | undefined;
}

interface AgentPoolDependencies {
  clock: Clock;
  maxLive: () => number;
  idleTimeoutMs: () => number;
  providerOf: (session: Session) => Provider;
  /** Told when an agent is gone, for whatever reason. */
  onGone: (live: LiveAgent) => void;
}

/**
 * The agents that live: never more than `maxLive` at once. One that has been idle for a while gives its
 * memory back, and the longest idle one makes room for another, unless its session could not be resumed.
 */
export class AgentPool {
  readonly #given: AgentPoolDependencies;
  readonly #places = new Map<string, Place>();
  /** Sessions whose last agent ends just now, or that are asked for: an agent for one starts only after that. */
  readonly #barred = new Map<string, Promise<void>>();
  /** Who waits for room, in order. */
  readonly #waiting: PromiseWithResolvers<void>[] = [];
  /** Agents that start or end just now: they take room too. */
  #moving = 0;
  /** Those of them that end to make room. */
  #leaving = 0;
  /** To start a process holds the event loop for milliseconds: of many starts, each has a turn of it to itself. */
  #lastStart = Promise.resolve();

  constructor(given: AgentPoolDependencies) {
    this.#given = given;
  }

  /** The live agent of a session, busy or not. */
  find(sessionId: string): LiveAgent | undefined {
    return this.#places.get(sessionId)?.live;
  }

  /** Agents that live just now, by provider. */
  count(provider: Session['provider']): number {
    return [...this.#places.values()].filter(({ live }) => live.session.provider === provider)
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
    const known = this.#places.get(session.id);
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

  /** The agent is at no turn any more: it may be unloaded. */
  release(live: LiveAgent): void {
    const place = this.#places.get(live.session.id);
    if (place?.live !== live || --place.leases > 0) return;
    // Its session would be lost with it.
    if (!live.agent.canResume) return;
    const unload = this.#given.clock.after(
      this.#given.idleTimeoutMs(),
      () => void this.end(live.session.id),
    );
    place.idle = { since: this.#given.clock.monotonic(), unload };
    this.admit();
  }

  /**
   * Lets in whom there is room for; for those who still wait, the longest idle make room, as they do where the
   * limit was lowered. To be called when the limit has changed.
   */
  admit(): void {
    const max = this.#given.maxLive();
    while (this.#waiting.length > 0 && this.#places.size + this.#moving < max) {
      this.#moving++;
      this.#waiting.shift()?.resolve();
    }
    while (this.#waiting.length > this.#leaving || this.#places.size > max) {
      const longest = this.#longestIdle();
      if (longest === undefined) return;
      this.#leaving++;
      void this.#end(longest, AGENT_GRACE_MS, () => this.#leaving--);
    }
  }

  /** Ends the agent of a session, if it has one; resolves when nothing of it is left. */
  async end(sessionId: string, graceMs = AGENT_GRACE_MS): Promise<void> {
    const place = this.#places.get(sessionId);
    if (place) await this.#end(place, graceMs);
    else await this.#barred.get(sessionId);
  }

  /** Runs `work` while the session has no agent and can have none; undefined, without it, where it has one. */
  async whileIdle<T>(sessionId: string, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#places.has(sessionId) || this.#barred.has(sessionId)) return undefined;
    const done = Promise.withResolvers<void>();
    this.#barred.set(sessionId, done.promise);
    try {
      return await work();
    } finally {
      this.#barred.delete(sessionId);
      done.resolve();
    }
  }

  /** Ends every agent; resolves when nothing of any is left. */
  async endAll(graceMs = AGENT_GRACE_MS): Promise<void> {
    const ids = [...this.#places.keys(), ...this.#barred.keys()];
    await Promise.all(ids.map((id) => this.end(id, graceMs)));
  }

  /** `after` runs before anybody is let in to the room that this makes. */
  async #end(place: Place, graceMs: number, after: () => void = () => undefined): Promise<void> {
    const { id } = place.live.session;
    const ended = Promise.withResolvers<void>();
    this.#forget(place);
    this.#barred.set(id, ended.promise);
    this.#moving++;
    try {
      await place.live.agent.end(graceMs);
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
    const place: Place = { live, leases: 1, idle: undefined };
    this.#places.set(session.id, place);
    void live.agent.gone.then(() => {
      this.#forget(place);
      this.admit();
      this.#given.onGone(live);
    });
    return live;
  }

  #forget(place: Place): void {
    place.idle?.unload[Symbol.dispose]();
    const { id } = place.live.session;
    if (this.#places.get(id) === place) this.#places.delete(id);
  }

  /** Resolves when one more may live; it then takes its room at once. Who came first is first. */
  async #room(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const place = Promise.withResolvers<void>();
    const leave = () => {
      const at = this.#waiting.indexOf(place);
      if (at >= 0) this.#waiting.splice(at, 1);
      place.reject(signal.reason as Error);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.push(place);
    this.admit();
    try {
      await place.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #longestIdle(): Place | undefined {
    const idle = [...this.#places.values()].filter((place) => place.idle !== undefined);
    return idle.toSorted((a, b) => (a.idle?.since ?? 0) - (b.idle?.since ?? 0))[0];
  }
}
