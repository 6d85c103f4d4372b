import type { Session, Turn } from '../../../api/sessions.ts';
import type { Moment } from '../../../api/snapshots.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import { reasonOf } from '../worktrees/worktree.ts';
import { checkoutOfSession } from './session-checkout.ts';
import { readFilesNow } from './files-now.ts';
import type { SnapshotDependencies } from './snapshot-requests.ts';
import type { StoredSnapshot } from './store.ts';

/** How long the beginning of a turn waits for its snapshot, and how long a snapshot may take, in milliseconds. */
const WAIT_MS = 1000;
const LIMIT_MS = 10_000;
/** After so many snapshots of a session that reached the limit, one after the other, none is taken until a restart. */
const SLOW = 2;

interface Dependencies extends Omit<SnapshotDependencies, 'sessionStore'> {
  /** Whether snapshots are taken where no person chose for the session. */
  isEnabled: () => boolean;
}

/** Takes the snapshots of turns, where they are switched on. A turn never fails because of one. */
export class SnapshotTaker {
  readonly #deps: Dependencies;
  /** One mutex for each session, so that its snapshots have the order of its turns. */
  readonly #sessions = new OneAtATime();
  #choices: Map<string, boolean> | undefined;
  readonly #slow = new Map<string, number>();

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Returns the choice of a person for a session; null without a choice. */
  choiceOf(sessionId: string): boolean | null {
    const { db, store } = this.#deps;
    this.#choices ??= db.peek((rx) => store.choices(rx));
    return this.#choices.get(sessionId) ?? null;
  }

  get isEnabled(): boolean {
    return this.#deps.isEnabled();
  }

  isOn(sessionId: string): boolean {
    return this.choiceOf(sessionId) ?? this.#deps.isEnabled();
  }

  /** Takes over what a person chose, once it is stored. */
  chose(sessionId: string, enabled: boolean | null): void {
    this.#slow.delete(sessionId);
    if (enabled === null) this.#choices?.delete(sessionId);
    else this.#choices?.set(sessionId, enabled);
  }

  /**
   * Takes a snapshot before the agent sees a turn; null where they are switched off. Resolves when it is taken, after a
   * second at the latest, or if `signal` aborts. Never rejects.
   */
  before(session: Session, turn: Turn, signal: AbortSignal): Promise<void> | null {
    if (!this.isOn(session.id)) return null;
    return this.#before(session, turn, signal);
  }

  /** Takes a snapshot after a turn, in the background. */
  after(session: Session, turn: Turn): void {
    if (this.isOn(session.id)) void this.#take(session, turn, 'end', { isLate: () => false });
  }

  /** Resolves with whether the files differ before and after a turn; null if not both snapshots are complete. */
  async hasChangedFiles({ session_id, turn_id }: Pick<Turn, 'session_id' | 'turn_id'>) {
    const { db, store } = this.#deps;
    if (!this.isOn(session_id)) return null;
    await this.taken(session_id);
    const [start, end] = db.peek((rx) =>
      (['start', 'end'] as const).map((moment) => store.find(rx, turn_id, moment)),
    );
    const areKnown = start?.is_whole === true && !start.is_late && end?.is_whole === true;
    return areKnown ? start.tree !== end.tree : null;
  }

  /** Resolves when no snapshot of a session is being taken, for example the one at the end of its last turn. */
  taken(sessionId: string): Promise<void> {
    return this.#sessions.run(sessionId, async () => undefined);
  }

  /** Resolves when no snapshot is being taken. */
  idle(): Promise<void> {
    return this.#sessions.idle();
  }

  async #before(session: Session, turn: Turn, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    let isLate = false;
    const taken = new AbortController();
    const taking = this.#take(session, turn, 'start', { isLate: () => isLate });
    const waiting = AbortSignal.any([signal, taken.signal]);
    const limit = clock.sleep(WAIT_MS, waiting).catch(() => undefined);
    await Promise.race([taking, limit]);
    isLate = true;
    taken.abort();
  }

  #take(
    session: Session,
    turn: Turn,
    moment: Moment,
    { isLate }: { isLate: () => boolean },
  ): Promise<void> {
    const { db, logger, store, snapshotObjectStores } = this.#deps;
    return this.#sessions.run(session.id, async () => {
      if ((this.#slow.get(session.id) ?? 0) >= SLOW) return;
      try {
        // An object store without a row counts as left over, so it is in use until its row is there.
        await snapshotObjectStores.use(session.id, async (objectStore) => {
          const snapshot = await this.#snapshot(session, turn, moment, objectStore);
          await db.transact((tx) => store.add(tx, { ...snapshot, is_late: isLate() }));
        });
        await snapshotObjectStores.trim();
      } catch (error) {
        logger.warn(
          { err: error, session_id: session.id, turn_id: turn.turn_id },
          'cannot take a snapshot',
        );
      }
    });
  }

  async #snapshot(
    session: Session,
    turn: Turn,
    moment: Moment,
    objectStore: string,
  ): Promise<StoredSnapshot> {
    const { clock } = this.#deps;
    const began = clock.monotonic();
    const late = new AbortController();
    using _ = clock.after(LIMIT_MS, () =>
      late.abort(new Error('the snapshot exceeded its time limit')),
    );
    const about = { session_id: session.id, turn_id: turn.turn_id, moment, taken_at: clock.now() };
    const end = () => ({ is_late: false, took_ms: Math.round(clock.monotonic() - began) });
    try {
      const taken = await this.#read(session, objectStore, late.signal);
      this.#slow.delete(session.id);
      return { ...about, ...taken, problem: null, ...end() };
    } catch (error) {
      if (late.signal.aborted) this.#slow.set(session.id, (this.#slow.get(session.id) ?? 0) + 1);
      const problem = problemOf(error, late.signal);
      return { ...about, ...nothing, problem, ...end() };
    }
  }

  async #read(session: Session, objectStore: string, signal: AbortSignal) {
    const { db, worktrees, gitContext, snapshotObjectStores } = this.#deps;
    const git = gitContext.git.within(signal);
    const id = session.worktree_id;
    const worktree = id === null ? null : await db.read((rx) => worktrees.worktree(rx, id));
    const checkout = await checkoutOfSession(git, session, worktree);
    const { repository, files: root, head: head_commit } = checkout;
    return gitContext.withScratch(session, async (scratch) => {
      const { tree, leftOut, isCut } = await readFilesNow(checkout, {
        scratch,
        objects: snapshotObjectStores.pathOf(objectStore),
        filters: gitContext.filtersOf(repository),
        signal,
      });
      const is_whole = leftOut.length === 0 && !isCut;
      return {
        tree,
        head_commit,
        root,
        depot: objectStore,
        repository: repository.commonDir,
        is_whole,
      };
    });
  }
}

const nothing = {
  tree: null,
  head_commit: null,
  root: null,
  depot: null,
  repository: null,
  is_whole: false,
};

function problemOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return `the snapshot took longer than ${LIMIT_MS / 1000} s`;
  const reason = reasonOf(error);
  if (reason === null) throw error;
  return reason;
}
