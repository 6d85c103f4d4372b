import type { BodyOf, QueryOf } from '../../../api/endpoint.ts';
import { conflictError, notFoundError } from '../../../api/errors.ts';
import type { Process } from '../../../api/processes.ts';
import type { listWatches, startWatch, Watch } from '../../../api/watches.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { RecordPage } from '../../../core/store/records.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import { type CheckOwner, type CheckProcesses, CheckRunner } from '../goals/check-runner.ts';
import { cannotRun, refusedCheck, resultOf } from '../goals/goal.ts';
import type { Inbox } from '../inbox/inbox.ts';
import { actOnEach, type Scheduler } from '../inbox/scheduler.ts';
import { assertOpen } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { WatchStore } from './store.ts';
import {
  afterOutput,
  checkingWatch,
  endedWatch,
  failedWatch,
  newWatch,
  postponedWatch,
  promptAbout,
} from './watch.ts';

/** The owner of the entries of watches in the inbox. The reference of an entry is its session. */
const OWNER = 'watch';
/** The rank of entries in the inbox: the rank of the queue. */
const RANK = 1;

interface WatchServiceDeps extends Pick<
  ServerParts,
  'db' | 'clock' | 'ids' | 'logger' | 'failpoint'
> {
  store: WatchStore;
  processes: CheckProcesses;
  /** Resolves with a digest of the stored output of a process. */
  digestOutput: (process: Process) => Promise<string>;
  sessionStore: SessionStore;
  inbox: Inbox;
  scheduler: Scheduler;
}

/**
 * The watches of sessions. A check is due at a time, and starts only if the session could begin a turn. The digest of a
 * changed output and its entry in the inbox are stored in one transaction, so that each change becomes one turn.
 */
export class WatchService implements CheckOwner<Watch> {
  readonly checks: CheckRunner<Watch>;
  readonly #deps: WatchServiceDeps;

  constructor(deps: WatchServiceDeps) {
    this.#deps = deps;
    this.checks = new CheckRunner({ ...deps, owner: this });
    deps.inbox.register(OWNER, {
      isAlone: true,
      content: (rx, { ref }) => {
        const watch = this.active(rx, ref);
        const text = watch ? promptAbout(watch) : '';
        return { source: 'watch', input: [{ type: 'text', text }] };
      },
      deferred: (tx, ref) => this.active(tx, ref) !== undefined,
      unreachable: (_tx, _ref, { status }) => status !== 'closed',
    });
    deps.scheduler.register({
      due: (rx) => deps.store.nextDue(rx),
      act: (signal) => this.#startDue(signal),
    });
  }

  /** Starts the watch of a session. `by` is the id of the token. Throws `conflict` if the session has an active one. */
  start(
    sessionId: string,
    body: BodyOf<typeof startWatch>,
    by: string,
    saveResponse?: SaveResponse,
  ): Promise<Watch> {
    const { db, store, sessionStore, scheduler, clock, ids } = this.#deps;
    return db.transact((tx) => {
      assertOpen(sessionStore.session(tx, sessionId));
      if (this.active(tx, sessionId))
        throw conflictError(`session ${sessionId} has an active watch: stop the watch first`);
      const request = { watch_id: ids.next('watch'), session_id: sessionId, created_by: by };
      const watch = newWatch(request, body, clock.now());
      store.write(tx, watch, 'watch.started');
      tx.whenDurable(() => scheduler.wake(watch.created_at));
      return watch;
    }, saveResponse);
  }

  /** Returns the watch of a session that was started last. Throws `not_found`. */
  get(sessionId: string): Promise<Watch> {
    return this.#deps.db.read((rx) => this.#watch(rx, sessionId));
  }

  list({ limit, cursor, status }: QueryOf<typeof listWatches>): Promise<RecordPage<Watch>> {
    const { db, store } = this.#deps;
    return db.read((rx) => store.watches.page(rx, { status }, limit, cursor));
  }

  isAnyActive(): Promise<boolean> {
    const { db, store } = this.#deps;
    return db.read((rx) => store.nextDue(rx) !== null || store.checking(rx).length > 0);
  }

  /** Stops the watch of a session. A watch that has ended is returned unchanged. */
  stop(sessionId: string, saveResponse?: SaveResponse): Promise<Watch> {
    return this.#deps.db.transact((tx) => {
      this.#end(tx, sessionId, 'stopped');
      return this.#watch(tx, sessionId);
    }, saveResponse);
  }

  /** Must be called when a session is closed. */
  sessionClosed(tx: Writer, sessionId: string): void {
    this.#end(tx, sessionId, 'session_closed');
  }

  /** Removes the watch of a closed session whose contents retention deletes. */
  sessionTrimmed(tx: Writer, sessionId: string): void {
    this.#deps.store.forget(tx, sessionId);
  }

  active(rx: Reader, sessionId: string): Watch | undefined {
    return this.#deps.store.active(rx, sessionId);
  }

  checking(rx: Reader): Watch[] {
    return this.#deps.store.checking(rx);
  }

  checkStarted(tx: Writer, watch: Watch): void {
    this.#deps.store.write(tx, watch);
  }

  async checkEnded(watch: Watch, process: Process, isDue: (tx: Writer) => boolean): Promise<void> {
    const { db, clock, store, inbox, processes, digestOutput } = this.#deps;
    const { session_id } = watch;
    const last = resultOf(process, await processes.readTails(process.process_id));
    const sha256 = await digestOutput(process);
    await db.transact((tx) => {
      if (!isDue(tx)) return;
      if (cannotRun(process) || last.exit_code === null) return this.#storeFailed(tx, watch, last);
      const after = afterOutput(watch, { sha256, last, now: clock.now() });
      store.write(tx, after.watch, after.isChanged ? 'watch.changed' : undefined);
      this.#wakeFor(tx, after.watch);
      if (!after.isChanged) return;
      inbox.entries.put(tx, { session_id, owner: OWNER, ref: session_id, rank: RANK });
      inbox.beginNextTurn(tx, session_id);
    });
  }

  checkRefused(tx: Writer, watch: Watch, why: string): void {
    this.#storeFailed(tx, watch, refusedCheck(why));
  }

  #storeFailed(tx: Writer, watch: Watch, last: NonNullable<Watch['last']>): void {
    const failed = failedWatch(watch, last, this.#deps.clock.now());
    this.#deps.store.write(tx, failed, failed.status === 'ended' ? 'watch.ended' : undefined);
    this.#wakeFor(tx, failed);
  }

  #end(tx: Writer, sessionId: string, reason: Watch['reason']): void {
    const { store, inbox, clock } = this.#deps;
    const watch = this.active(tx, sessionId);
    if (!watch) return;
    inbox.entries.remove(tx, OWNER, sessionId);
    this.checks.discard(tx, watch);
    store.write(tx, endedWatch(watch, reason, clock.now()), 'watch.ended');
  }

  async #startDue(signal: AbortSignal): Promise<void> {
    const { db, store, inbox, clock } = this.#deps;
    const ids = db.peek((rx) => store.due(rx, clock.now()));
    await actOnEach(this.#deps, ids, signal, (tx, sessionId) => {
      const watch = this.active(tx, sessionId);
      if (watch?.status !== 'waiting') return;
      const now = clock.now();
      const isIdle = inbox.isFree(tx, sessionId) && !inbox.entries.hasNext(tx, sessionId);
      store.write(tx, isIdle ? checkingWatch(watch, now) : postponedWatch(watch, now));
      if (isIdle) tx.whenDurable(() => this.checks.start(sessionId));
    });
  }

  #wakeFor(tx: Writer, { next_at }: Watch): void {
    if (next_at !== null) tx.whenDurable(() => this.#deps.scheduler.wake(next_at));
  }

  #watch(rx: Reader, sessionId: string): Watch {
    this.#deps.sessionStore.session(rx, sessionId);
    const watch = this.#deps.store.watches.get(rx, sessionId);
    if (watch) return watch;
    throw notFoundError(`session "${sessionId}" has no watch`);
  }
}
