import type { Session } from '../../../api/sessions.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { yieldToEventLoop } from '../../../core/lib/slices.ts';
import type { ForkPoint } from '../../../agents/conversations.ts';
import type { AttachedAgent, AttachedTurn, TakesOver } from '../../../agents/attached-turn.ts';
import { type AgentKind, type AgentSink, unavailable } from '../../../agents/provider.ts';
import type { TakenTurn } from './attach-turn.ts';
import { type LiveAgent, newLive } from './running-turn.ts';
import {
  endedToMakeRoom,
  type AgentKinds,
  type AgentSlot,
  type Shortage,
  shortageFor,
  type Waiting,
  type WaitingForSlot,
} from './agent-slots.ts';

/** How long an agent has to end by itself before it is killed. */
const AGENT_GRACE_MS = 2000;

/** The wait for a slot, in ms, after which a notice of the turn reports the wait. */
const NOTICE_MS = 5000;

interface Entry {
  live: LiveAgent;
  slot: AgentSlot;
  sink: AgentSink;
  /** The number of turns that lease the agent. The next turn may lease it before the last one has released it. */
  leases: number;
  /** Set while no turn leases the agent: start of the idle time (monotonic, ms), timeout, and whether it may be ended. */
  idle: { since: number; unload: Disposable; isEndable: boolean } | undefined;
}

interface AgentPoolDeps {
  clock: Clock;
  maxLive: () => number;
  idleTimeoutMs: () => number;
  kinds: Pick<AgentKinds, 'usable'>;
  /** Closes the output of an exited agent outside any turn. */
  outputs: { closeAside: (live: LiveAgent) => Promise<void> };
  /** Returns the session from which agents have spawned a session; the session itself if no agent spawned it. */
  familyOf: (sessionId: string) => string;
  /** Returns the point at which a session that has no agent yet forks another conversation. */
  forkPointOf: (session: Session) => ForkPoint | undefined;
  /** Whether the sandbox of a live agent has the access that the session has now. */
  suits: (live: LiveAgent, session: Session) => boolean;
}

/**
 * The live agents, never more than `maxLive` at once. An agent is ended after the idle timeout. If the pool is full,
 * the agent that has been idle for longest is ended to make room. An agent whose session could not be resumed is lasting:
 * it is ended only after the idle timeout, and only if a turn waits for its slot. Lasting agents have a quota, and so has
 * a session with all sessions spawned from it. Agents of a kind that has not started yet start one at a time.
 */
export class AgentPool {
  readonly #deps: AgentPoolDeps;
  readonly #entries = new Map<string, Entry>();
  /** Sessions that get no agent until the promise resolves, because their agent is ending or `whileIdle` runs. */
  readonly #barred = new Map<string, Promise<void>>();
  /** Ends the start of an agent that no turn has asked for. */
  readonly #trying = new Map<string, AbortController>();
  readonly #waiting: Waiting[] = [];
  readonly #starting = new Set<AgentSlot>();
  /** Whether the agents of a kind were lasting when one was last started. */
  readonly #lasting = new Map<string, boolean>();
  /** The number of agents that are starting or ending. They count against the limit too. */
  #moving = 0;
  /** Starting a process blocks the event loop for milliseconds, so starts yield to the event loop between them. */
  #lastStart = Promise.resolve();

  constructor(deps: AgentPoolDeps) {
    this.#deps = deps;
  }

  find(sessionId: string): LiveAgent | undefined {
    return this.#entries.get(sessionId)?.live;
  }

  /** Returns the live agent of a session, unless a turn leases it or the agent is lost. */
  findIdle(sessionId: string): LiveAgent | undefined {
    const entry = this.#entries.get(sessionId);
    return entry?.leases === 0 && !entry.live.agent.isLost() ? entry.live : undefined;
  }

  /** Returns the number of live agents, of a provider, or of one of its named agents. */
  count(provider?: Session['provider'], agent?: string): number {
    return [...this.#entries.values()].filter(
      ({ live: { session } }) =>
        (provider === undefined || session.provider === provider) &&
        (agent === undefined || session.agent === agent),
    ).length;
  }

  /** The number of agents that a turn leases, or that a turn waits for: at `maxLive` a further turn has to wait. */
  get busy(): number {
    const leased = [...this.#entries.values()].filter(({ leases }) => leases > 0).length;
    return leased + this.#moving + this.#waiting.length;
  }

  /** Leases the agent of a session, and starts one if none suits. `onWait` is called once with the reason of a long wait. */
  async lease(
    session: Session,
    sinkFor: (live: LiveAgent) => AgentSink,
    signal: AbortSignal,
    onWait: (reason: string) => void = () => undefined,
  ): Promise<LiveAgent> {
    await this.#entries.get(session.id)?.live.silence;
    const entry = this.#entries.get(session.id);
    if (entry && !entry.live.agent.isLost() && this.#deps.suits(entry.live, session))
      return leased(entry);
    const kind = this.#deps.kinds.usable(session.provider, session.agent);
    if (entry) await this.#end(entry, AGENT_GRACE_MS);
    await this.#barred.get(session.id);
    if (this.#entries.has(session.id)) return this.lease(session, sinkFor, signal, onWait);
    const slot = this.#slotFor(session);
    await this.#reserveRoom(slot, signal, onWait);
    this.#lastStart = this.#lastStart.then(yieldToEventLoop);
    await this.#lastStart;
    return this.#start({ session, kind, slot }, sinkFor, signal);
  }

  /**
   * Takes over the agent of a running turn, which the turn leases. It may be one more than `maxLive`, because the agent
   * runs already. Throws ProviderError.
   */
  adopt(
    { session, reader: { position }, child, from }: TakenTurn,
    turn: AttachedTurn,
    sinkFor: (live: LiveAgent) => AgentSink,
  ): { live: LiveAgent; outcome: AttachedAgent['outcome'] } {
    const { kinds } = this.#deps;
    const kind: AgentKind & Partial<TakesOver> = kinds.usable(session.provider, session.agent);
    const live = newLive(session, true);
    const sink = sinkFor(live);
    const attached = child && kind.attach?.(session, sink, { child, from, position, turn });
    if (!attached) throw unavailable('the agent of the turn is gone');
    const { agent, outcome } = attached;
    live.agent = agent;
    this.#enter({ live, slot: this.#slotFor(session), sink, leases: 1, idle: undefined });
    return { live, outcome };
  }

  /** Starts the agent of a session without a turn, and leaves it idle. Resolves with undefined if there is no room now. */
  async tryStart(
    session: Session,
    sinkFor: (live: LiveAgent) => AgentSink,
    signal: AbortSignal,
  ): Promise<LiveAgent | undefined> {
    const { id } = session;
    const slot = this.#slotFor(session);
    const isFull = this.#shortageFor(slot) !== null;
    const isStarting = [...this.#starting].some(({ sessionId }) => sessionId === id);
    if (this.#entries.has(id) || this.#barred.has(id) || isStarting || isFull) return this.find(id);
    const kind = this.#deps.kinds.usable(session.provider, session.agent);
    const done = Promise.withResolvers<void>();
    const trying = new AbortController();
    this.#barred.set(id, done.promise);
    this.#trying.set(id, trying);
    this.#moving++;
    this.#starting.add(slot);
    try {
      const live = await this.#start(
        { session, kind, slot },
        sinkFor,
        AbortSignal.any([signal, trying.signal]),
      );
      this.release(live);
      return live;
    } finally {
      this.#barred.delete(id);
      this.#trying.delete(id);
      done.resolve();
    }
  }

  /** Ends the lease of one turn. The last release starts the idle timeout. */
  release(live: LiveAgent): void {
    const entry = this.#entries.get(live.session.id);
    if (entry?.live !== live || --entry.leases > 0) return;
    entry.slot.isBusy = false;
    const { clock, idleTimeoutMs } = this.#deps;
    const { canResume } = live.agent;
    const unload = clock.after(idleTimeoutMs(), () => {
      if (canResume) return void this.end(live.session.id);
      // An agent that cannot resume its session takes the session with it: that has to be worth it.
      if (entry.idle) entry.idle.isEndable = true;
      this.admit();
    });
    entry.idle = { since: clock.monotonic(), unload, isEndable: canResume };
    this.admit();
  }

  /** The turns that wait for a slot, the one that has waited for longest first. */
  get waiting(): WaitingForSlot[] {
    const now = this.#deps.clock.monotonic();
    return this.#waiting.map(({ slot, since }) => ({
      session_id: slot.sessionId,
      waited_ms: Math.round(now - since),
      reason: this.#whyWaiting(slot),
    }));
  }

  /** Admits waiting leases, and ends idle agents to make room. Must be called when the limit has changed. */
  admit(): void {
    for (const one of Array.from(this.#waiting)) {
      if (this.#entries.size + this.#moving >= this.#deps.maxLive()) break;
      if (this.#shortageFor(one.slot) !== null) continue;
      this.#waiting.splice(this.#waiting.indexOf(one), 1);
      this.#moving++;
      this.#starting.add(one.slot);
      one.admitted.resolve();
    }
    for (const one of this.#waiting) {
      if (!this.#longestIdle(() => true)) break;
      if (!one.isServed) this.#makeRoom(one);
    }
    while (this.#entries.size > this.#deps.maxLive()) {
      const longest = this.#longestIdle(() => true);
      if (longest === undefined) return;
      void this.#end(longest, AGENT_GRACE_MS);
    }
  }

  /** Ends the agent that has been idle for longest among those whose end helps a lease that waits. */
  #makeRoom(waiting: Waiting): void {
    const shortage = this.#shortageFor(waiting.slot);
    if (!shortage) return;
    const helps: Record<Shortage['by'], (one: AgentSlot) => boolean> = {
      lasting: (one) => one.isLasting === true,
      // The start that it waits for needs no further room.
      unknown: () => false,
      family: (one) => one.family === waiting.slot.family,
      all: () => true,
    };
    const longest = this.#longestIdle(helps[shortage.by]);
    if (longest === undefined) return;
    waiting.isServed = true;
    if (longest.slot.isLasting) void longest.sink.update(endedToMakeRoom);
    void this.#end(longest, AGENT_GRACE_MS, () => (waiting.isServed = false));
  }

  #slotFor({ id, provider, agent }: Session): AgentSlot {
    const kind = JSON.stringify([provider, agent]);
    const family = this.#deps.familyOf(id);
    return { family, sessionId: id, kind, isLasting: null, isBusy: true };
  }

  #shortageFor(slot: AgentSlot): Shortage | null {
    slot.isLasting = this.#lasting.get(slot.kind) ?? null;
    const live = [...this.#entries.values()].map((one) => one.slot);
    const ending = this.#moving - this.#starting.size;
    return shortageFor(slot, [...live, ...this.#starting], this.#deps.maxLive(), ending);
  }

  #whyWaiting(slot: AgentSlot): string {
    return this.#shortageFor(slot)?.message ?? 'stopping an idle agent to make room';
  }

  /** Ends the agent of a session, if it has one. Resolves once the agent has exited. */
  async end(sessionId: string, graceMs = AGENT_GRACE_MS): Promise<void> {
    const trying = this.#trying.get(sessionId);
    trying?.abort(new Error('the agent is stopping'));
    if (trying) await this.#barred.get(sessionId);
    const entry = this.#entries.get(sessionId);
    if (entry) await this.#end(entry, graceMs);
    else await this.#barred.get(sessionId);
  }

  /** Runs `work` while the session has and gets no agent. Resolves with undefined, without `work`, if it has one. */
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

  /** Leaves an agent to the next server. */
  leave({ session }: LiveAgent): void {
    const entry = this.#entries.get(session.id);
    if (entry) this.#forget(entry);
  }

  async endAll(graceMs = AGENT_GRACE_MS): Promise<void> {
    const ids = [...this.#entries.keys(), ...this.#barred.keys()];
    await Promise.all(ids.map((id) => this.end(id, graceMs)));
  }

  /** Ends an agent. `after` runs before the next lease is admitted. */
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

  async #start(
    { session, kind, slot }: { session: Session; kind: AgentKind; slot: AgentSlot },
    sinkFor: (live: LiveAgent) => AgentSink,
    signal: AbortSignal,
  ): Promise<LiveAgent> {
    const live = newLive(session);
    try {
      const sink = sinkFor(live);
      live.agent = await kind.open(session, sink, signal, this.#deps.forkPointOf(session));
      this.#enter({ live, slot, sink, leases: 1, idle: undefined });
      return live;
    } finally {
      this.#starting.delete(slot);
      this.#moving--;
      this.admit();
    }
  }

  #enter(entry: Entry): void {
    const { live, slot } = entry;
    slot.isLasting = !live.agent.canResume;
    this.#lasting.set(slot.kind, slot.isLasting);
    this.#entries.set(live.session.id, entry);
    void live.agent.gone.then(() => {
      this.#forget(entry);
      this.admit();
      void this.#deps.outputs.closeAside(live);
    });
  }

  #forget(entry: Entry): void {
    entry.idle?.unload[Symbol.dispose]();
    const { id } = entry.live.session;
    if (this.#entries.get(id) === entry) this.#entries.delete(id);
  }

  /** Reserves room for one more agent, once there is some. First come, first served, but for leases beyond a quota. */
  async #reserveRoom(
    slot: AgentSlot,
    signal: AbortSignal,
    onWait: (reason: string) => void,
  ): Promise<void> {
    signal.throwIfAborted();
    const { clock } = this.#deps;
    const admitted = Promise.withResolvers<void>();
    const waiting: Waiting = { slot, since: clock.monotonic(), admitted, isServed: false };
    const leave = () => {
      const at = this.#waiting.indexOf(waiting);
      if (at >= 0) this.#waiting.splice(at, 1);
      admitted.reject(signal.reason as Error);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.push(waiting);
    this.admit();
    using _notice = this.#waiting.includes(waiting)
      ? clock.after(NOTICE_MS, () => onWait(this.#whyWaiting(slot)))
      : null;
    try {
      await admitted.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Returns the endable agent that has been idle for longest, a lasting one only where there is no other. */
  #longestIdle(matches: (slot: AgentSlot) => boolean): Entry | undefined {
    return [...this.#entries.values()]
      .filter(({ idle, slot }) => idle?.isEndable === true && matches(slot))
      .toSorted(
        (a, b) =>
          Number(a.slot.isLasting) - Number(b.slot.isLasting) ||
          (a.idle?.since ?? 0) - (b.idle?.since ?? 0),
      )[0];
  }
}

function leased(entry: Entry): LiveAgent {
  entry.idle?.unload[Symbol.dispose]();
  entry.idle = undefined;
  entry.slot.isBusy = true;
  entry.leases++;
  return entry.live;
}
