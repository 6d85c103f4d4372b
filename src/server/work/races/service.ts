import type { BodyOf, QueryOf, ResponseOf } from '../../../api/endpoint.ts';
import type { Contender, keepContender, listRaces, Race, startRace } from '../../../api/races.ts';
import type { CleanupResult } from '../../../api/worktrees.ts';
import { conflictError } from '../../../api/errors.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { RecordPage } from '../../../core/store/records.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { GoalService } from '../../conversations/goals/service.ts';
import type { Inbox } from '../../conversations/inbox/inbox.ts';
import type { SessionService } from '../../conversations/sessions/service.ts';
import { assertNotClosed } from '../../conversations/sessions/session.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import { workingDirectory } from '../../conversations/sessions/working-directory.ts';
import type { WorktreeService } from '../worktrees/service.ts';
import type { WorktreeStore } from '../worktrees/store.ts';
import { assertKeepable, contenderIn, hasEnded, newRace } from './race.ts';
import type { RaceRunner } from './runner.ts';
import type { RaceStore } from './store.ts';

interface RaceServiceDeps extends Pick<ServerParts, 'db' | 'clock' | 'ids' | 'failpoint'> {
  store: RaceStore;
  runner: RaceRunner;
  sessionStore: SessionStore;
  sessions: SessionService;
  goals: GoalService;
  inbox: Inbox;
  worktrees: WorktreeService;
  worktreeStore: WorktreeStore;
  /** Returns what a worktree of a directory starts from. Throws `invalid`. */
  readBase: (
    directory: string,
    ref: string | null,
  ) => Promise<Pick<Race, 'repo_root' | 'base_ref' | 'base_commit'>>;
  /** Resolves once the agent and the processes of a closed session have ended. */
  sessionEnded: (sessionId: string) => Promise<void>;
  /** Throws `storage_full` if there is no room for new work. */
  assertRoom: () => void;
}

/** The use cases of races. A race is one row: sessions, goals and worktrees do the work. */
export class RaceService {
  readonly #deps: RaceServiceDeps;

  constructor(deps: RaceServiceDeps) {
    this.#deps = deps;
  }

  /** Stores a race, whose contenders start after that. `by` is the id of the token of the request. */
  async start(
    body: BodyOf<typeof startRace>,
    by: string,
    saveResponse?: SaveResponse,
  ): Promise<Race> {
    const { db, store, runner, ids, clock, readBase, assertRoom } = this.#deps;
    assertRoom();
    const cwd = await workingDirectory(body.cwd);
    const base = await readBase(cwd, body.base_ref ?? null);
    const about = { id: ids.next('race'), cwd, ...base, created_by: by, now: clock.now() };
    const race = newRace(body, about);
    return db.transact((tx) => {
      if (store.isNamed(tx, race.name))
        throw conflictError(`race "${race.name}" already exists: choose another name`);
      store.insert(tx, race);
      tx.whenDurable(() => runner.start(race));
      return race;
    }, saveResponse);
  }

  get(id: string): Promise<Race> {
    const { db, store } = this.#deps;
    return db.read((rx) => store.current(rx, store.race(rx, id)));
  }

  list({ limit, cursor }: QueryOf<typeof listRaces>): Promise<RecordPage<Race>> {
    const { db, store } = this.#deps;
    return db.read((rx) => {
      const page = store.races.page(rx, {}, limit, cursor);
      return { ...page, records: page.records.map((race) => store.current(rx, race)) };
    });
  }

  /** Interrupts the turns of a race, and cancels its checks. A race that has ended is returned unchanged. */
  stop(id: string, saveResponse?: SaveResponse): Promise<Race> {
    const { db, store, clock } = this.#deps;
    return db.transact((tx) => {
      const race = store.race(tx, id);
      if (race.status !== 'running' || race.stopped_at !== null) return store.current(tx, race);
      const now = clock.now();
      const stopped: Race = { ...race, stopped_at: now, updated_at: now };
      store.races.update(tx, stopped);
      for (const { session_id } of race.contenders.filter((one) => !hasEnded(one)))
        if (session_id !== null) this.#stop(tx, session_id);
      return store.current(tx, stopped);
    }, saveResponse);
  }

  #stop(tx: Writer, sessionId: string): void {
    const { sessions, goals, inbox } = this.#deps;
    const message = 'the race of the session was stopped';
    if (!sessions.requestInterrupt(tx, sessionId))
      inbox.holds.put(tx, sessionId, { code: 'paused', message, until: null });
    goals.cancelNow(tx, sessionId);
  }

  /**
   * Keeps one contender. The others are closed in the same transaction, which also makes the cleanups of their worktrees
   * due. The same request again resolves with the results of the cleanups.
   */
  async keep(
    id: string,
    { contender: name }: BodyOf<typeof keepContender>,
    saveResponse?: SaveResponse,
  ): Promise<ResponseOf<typeof keepContender>> {
    const { db, store, sessionStore, clock, failpoint } = this.#deps;
    const race = await db.transact((tx) => {
      const found = store.race(tx, id);
      const chosen = contenderIn(found, name);
      if (found.kept === name) return found;
      assertKeepable(found, chosen);
      assertNotClosed(sessionStore.session(tx, chosen.session_id ?? ''));
      for (const other of found.contenders)
        if (other !== chosen) this.#giveUp(tx, other, `race ${found.name}: ${name} was kept`);
      const after: Race = { ...found, kept: name, updated_at: clock.now() };
      store.keep(tx, after);
      saveResponse?.(tx, { race: after, cleanups: [] });
      return after;
    });
    failpoint('race.kept');
    const others = race.contenders.filter(({ contender }) => contender !== name);
    const cleanups = (await Promise.all(others.map((other) => this.#cleanUp(other)))).flat();
    return db.transact(() => ({ race, cleanups }), saveResponse);
  }

  /** Closes the session of a contender, and makes the cleanup of its worktree due unless another session claims it. */
  #giveUp(tx: Writer, { session_id, worktree_id }: Contender, reason: string): void {
    const { sessions, sessionStore, worktreeStore, clock } = this.#deps;
    if (session_id === null || worktree_id === null) return;
    const session = sessionStore.session(tx, session_id);
    if (session.status !== 'closed') sessions.closeNow(tx, session, reason);
    const worktree = worktreeStore.worktree(tx, worktree_id);
    if (worktree.status !== 'retained') return;
    const deletion_policy = 'delete_on_last_claim' as const;
    const due = { ...worktree, deletion_policy, cleanup_due_at: clock.now() };
    worktreeStore.worktrees.update(tx, due);
  }

  /** Does the cleanup of a contender's worktree, unless none is due because somebody else uses the worktree. */
  async #cleanUp({ session_id, worktree_id }: Contender): Promise<CleanupResult[]> {
    const { sessionEnded, worktrees } = this.#deps;
    if (session_id === null || worktree_id === null) return [];
    await sessionEnded(session_id);
    const { status, cleanup_due_at } = await worktrees.get(worktree_id);
    const isDue = (cleanup_due_at ?? null) !== null;
    return isDue || status === 'cleaned' ? [await worktrees.cleanUpReleased(worktree_id)] : [];
  }
}
