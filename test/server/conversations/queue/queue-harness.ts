import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Session, Turn } from '../../../../src/api/sessions.ts';
import { EventLog } from '../../../../src/core/events/log.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { systemIds } from '../../../../src/core/lib/ids.ts';
import { createLog } from '../../../../src/core/lib/log.ts';
import { QueueInboxSource } from '../../../../src/server/conversations/queue/inbox-source.ts';
import { QueueService } from '../../../../src/server/conversations/queue/service.ts';
import { QueueStore } from '../../../../src/server/conversations/queue/store.ts';
import {
  beginTurnInRows,
  endTurnInRows,
  failSessionInRows,
} from '../../../../src/server/conversations/sessions/turn-rows.ts';
import { Holds } from '../../../../src/server/conversations/inbox/holds.ts';
import { Inbox } from '../../../../src/server/conversations/inbox/inbox.ts';
import { Scheduler } from '../../../../src/server/conversations/inbox/scheduler.ts';
import { SessionStore } from '../../../../src/server/conversations/sessions/store.ts';
import { hasEnded } from '../../../../src/server/conversations/sessions/turn.ts';
import type { Database } from '../../../../src/core/store/database.ts';
import { openDatabase } from '../../../support/database.ts';
import { scaled } from '../../../support/patience.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { aSession } from '../../../support/records.ts';
import type { UntypedEvent } from '../../../support/untyped-events.ts';
import { DAY, MINUTE } from '../../../support/queue/queue.ts';

type ServerRun = ReturnType<typeof startRun>;

/** The queue with its inbox on a real store, over server runs that end by a SIGKILL. The test acts for the agents. */
export class QueueHarness {
  readonly db: Database;
  readonly sessions: readonly string[];
  /** The events since the last `takeEvents`. */
  readonly #events: UntypedEvent[] = [];
  serverRun: ServerRun;

  private constructor(db: Database, sessions: readonly string[], serverRun: ServerRun) {
    this.db = db;
    this.sessions = sessions;
    this.serverRun = serverRun;
    db.onDurable((entries) => {
      for (const { text } of entries as { text: string }[])
        this.#events.push(JSON.parse(text) as UntypedEvent);
    });
  }

  static async make(directory: string, start: number, count: number): Promise<QueueHarness> {
    const clock = new ManualClock(start);
    const db = await openDatabase(directory, { durability: 'normal', clock });
    const serverRun = startRun(db, clock);
    const sessions = Array.from({ length: count }, (_, at) => `sess_${at}`);
    await db.transact((tx) => {
      for (const id of sessions) serverRun.store.createSession(tx, aSession({ id }));
    });
    const harness = new QueueHarness(db, sessions, serverRun);
    await serverRun.open();
    return harness;
  }

  takeEvents(): UntypedEvent[] {
    return this.#events.splice(0);
  }

  now(): number {
    return this.serverRun.clock.now();
  }

  session(id: string): Session {
    return this.db.peek((rx) => this.serverRun.store.session(rx, id));
  }

  /** Returns the active turn of a session. */
  turn(id: string): Turn | undefined {
    const turn = this.db.peek((rx) => this.serverRun.store.activeTurn(rx, id));
    return turn && !hasEnded(turn) ? turn : undefined;
  }

  /** Begins the accepted turn of a session, as if its agent had received it. */
  async begin(id: string): Promise<void> {
    const { store, inbox, clock } = this.serverRun;
    const turn = this.turn(id);
    if (turn?.status !== 'accepted') return;
    const agent = { ref: 'a', asks: true, defaults };
    await this.db.transact((tx) =>
      beginTurnInRows(tx, turn, agent, {
        store,
        inbox,
        outputs: { begin: () => undefined },
        clock,
        ids: systemIds,
      }),
    );
  }

  /** Ends the active turn of a session. A turn that has not begun fails, because no agent is available. */
  async end(id: string): Promise<void> {
    const turn = this.turn(id);
    if (!turn) return;
    const error = { code: 'provider_unavailable', message: 'not now' };
    const outcome =
      turn.started_at === null
        ? { status: 'failed' as const, error }
        : { status: 'completed' as const, error: null };
    const { store, log, inbox, clock } = this.serverRun;
    await this.db.transact((tx) => {
      const { ended } = endTurnInRows(tx, turn, outcome, { store, log, clock });
      inbox.turnEnded(tx, ended);
      inbox.beginNextTurn(tx, id);
    });
  }

  /** Fails an idle session, as if its agent could not resume it. */
  async fail(id: string): Promise<void> {
    if (this.session(id).status !== 'ready') return;
    const failure = { code: 'resume_failed', message: 'it is unknown' };
    await this.db.transact((tx) => failSessionInRows(tx, id, failure, this.serverRun));
  }

  async bringBack(id: string): Promise<void> {
    const { store, inbox } = this.serverRun;
    if (this.session(id).status !== 'failed') return;
    await this.db.transact((tx) => {
      const ready = { ...store.session(tx, id), status: 'ready' as const, failure: null };
      store.updateSession(tx, ready, 'session.resumed');
      inbox.takeBack(tx, id);
    });
  }

  /** Kills the server during `act`: the stored effects of `act` remain, and it has no others. */
  async killDuring(act: () => Promise<unknown>, downMs: number): Promise<void> {
    const { clock } = this.serverRun;
    this.serverRun.die();
    await act().catch(() => undefined);
    await nextTurn();
    this.serverRun = startRun(this.db, new ManualClock(clock.now() + downMs));
    await recover(this.serverRun);
    await this.serverRun.open();
  }

  /**
   * Advances the clock. While nothing is due, the clock jumps, so that the check of each minute is not simulated.
   */
  async pass(ms: number): Promise<void> {
    const { clock } = this.serverRun;
    const end = clock.now() + ms;
    while (clock.now() < end) {
      const next = Math.min(end, this.#nextTime() ?? Infinity);
      const gap = next - clock.now();
      if (gap > MINUTE) clock.jump(gap - MINUTE);
      clock.advance(Math.max(0, Math.min(gap, MINUTE)));
      await this.#untilLooked();
    }
  }

  /** Moves the clock without timers, as a sleep of the machine or a change of its clock does. */
  async jump(ms: number): Promise<void> {
    this.serverRun.clock.jump(ms);
    this.serverRun.clock.advance(MINUTE);
    await this.#untilLooked({ isAnew: true });
  }

  /** Waits until the timers, without any other trigger, have handled everything that is due. */
  async #untilLooked({ isAnew = false } = {}): Promise<void> {
    const late = systemClock.monotonic() + scaled(20_000);
    while (systemClock.monotonic() < late) {
      await nextTurn();
      // Fires a timer that was set for the current time.
      this.serverRun.clock.advance(0);
      const next = this.#nextTime();
      // A read ends once all rows that it saw are on disk and their events are published.
      if ((next === null || next > this.now()) && !(isAnew && this.#ahead() > 0))
        return this.db.read(() => undefined);
    }
    throw new Error(
      `something is due, and no timer has noticed: it is ${this.now()}, and ${this.#nextTime()} was next`,
    );
  }

  #nextTime(): number | null {
    const { queue, holds } = this.serverRun;
    const times = this.db.peek((rx) => [queue.nextAt(rx), holds.nextEnd(rx)]);
    const next = Math.min(...times.map((at) => at ?? Infinity));
    return next === Infinity ? null : next;
  }

  #ahead(): number {
    return this.db.peek((rx) => this.serverRun.queue.settledAfter(rx, this.now() + DAY).length);
  }

  close(): Promise<void> {
    this.serverRun.die();
    return this.db.close();
  }
}

const defaults = { permissionMode: null, agentMode: null, model: null, thinkingEffort: null };

/** Builds the queue and its inbox as a start of the server does. */
function startRun(db: Database, clock: ManualClock) {
  const ids = systemIds;
  const logger = createLog({
    level: 'error',
    destination: process.stderr,
    pretty: false,
    secrets: () => [],
  });
  const log = new EventLog({ db, clock, ids });
  const store = new SessionStore({ db, log });
  const scheduler = new Scheduler({ db, clock, logger });
  const holds = new Holds({ db, log, clock, scheduler });
  const inbox = new Inbox({ db, sessionStore: store, holds, scheduler, clock, ids, logger });
  inbox.connect({
    accepted: () => undefined,
    requestInterrupt: (_tx, turn) => turn,
    tryAgent: () => Promise.resolve({ is: 'ready' }),
  });
  const queue = new QueueStore(db);
  const source = new QueueInboxSource({ db, store: queue, inbox, scheduler, log, clock });
  const service = new QueueService({
    db,
    store: queue,
    source,
    inbox,
    clock,
    ids,
    sessionStore: store,
    limits: { resume: () => undefined },
    sessions: {
      prepareInput: (_id, { input }) =>
        Promise.resolve([input].flat() as { type: 'text'; text: string }[]),
    },
  });
  return {
    db,
    clock,
    log,
    store,
    holds,
    inbox,
    queue,
    scheduler,
    service,
    async open() {
      await inbox.open();
      await scheduler.open();
    },
    die() {
      scheduler.stop();
      inbox.stop();
    },
  };
}

/** Fails the turns that the last run has left, as a start of the server does. */
async function recover({ db, store, log, inbox, clock }: ServerRun): Promise<void> {
  const error = { code: 'runtime_restarted', message: 'the server died' };
  await db.transact((tx) => {
    for (const turn of store.unfinishedTurns(tx)) {
      if (turn.status === 'accepted') continue;
      const outcome = { status: 'failed' as const, error };
      inbox.turnEnded(tx, endTurnInRows(tx, turn, outcome, { store, log, clock }).ended);
    }
  });
}
