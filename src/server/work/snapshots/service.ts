import path from 'node:path';
import type { getSessionDiff, SessionDiff } from '../../../api/diffs.ts';
import type { BodyOf, QueryOf, ResponseOf } from '../../../api/endpoint.ts';
import type { getSnapshots, listSessionFiles, restoreFile } from '../../../api/snapshots.ts';
import type { Turn } from '../../../api/sessions.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { assertNotClosed } from '../../conversations/sessions/session.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import { branchAt } from '../git/repository.ts';
import type { SnapshotDependencies, SnapshotRequests } from './snapshot-requests.ts';
import { diffSession } from './diff-session.ts';
import { restoreSessionFile, restoreSnapshot, writeSnapshot } from './restore-files.ts';
import { readFilesNow } from './files-now.ts';
import { summaryOfSnapshot, type Taken } from './store.ts';
import type { SnapshotTaker } from './taker.ts';
import { listTree } from './tree.ts';

type Dependencies = Pick<SnapshotDependencies, 'db' | 'sessionStore' | 'store'> & {
  taker: SnapshotTaker;
  requests: SnapshotRequests;
};

type Answer = ResponseOf<typeof getSnapshots>;

export class SnapshotService {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  get(sessionId: string): Promise<Answer> {
    return this.#deps.db.read((rx) => this.#answer(rx, sessionId));
  }

  /** Switches the snapshots of a session on or off; null: as configured. Throws `session_closed`. */
  set(sessionId: string, enabled: boolean | null): Promise<Answer> {
    const { db, sessionStore, store, taker } = this.#deps;
    // It is read before, so that the choice which is stored now is put into the memory of the others.
    taker.choiceOf(sessionId);
    return db.transact((tx) => {
      assertNotClosed(sessionStore.session(tx, sessionId));
      store.choose(tx, sessionId, enabled);
      tx.whenDurable(() => taker.chose(sessionId, enabled));
      return this.#answer(tx, sessionId, enabled);
    });
  }

  diff(sessionId: string, query: QueryOf<typeof getSessionDiff>): Promise<SessionDiff> {
    return this.#deps.requests.work(sessionId, (work) => diffSession(work, query));
  }

  /** Returns the branch that is checked out; null if none is. Throws `not_found`, and `conflict` without a checkout. */
  branch(sessionId: string): Promise<string | null> {
    return this.#deps.requests.work(sessionId, async (work) =>
      branchAt((await work.checkout()).git),
    );
  }

  restore(
    sessionId: string,
    request: BodyOf<typeof restoreFile>,
  ): Promise<ResponseOf<typeof restoreFile>> {
    return this.#deps.requests.work(sessionId, (work) => restoreSessionFile(work, request));
  }

  /** Returns the snapshot of the end of a turn. Throws `not_found`, and `conflict` if it could not be taken. */
  async endOf({ session_id, turn_id }: Pick<Turn, 'session_id' | 'turn_id'>): Promise<Taken> {
    const { taker, requests } = this.#deps;
    await taker.taken(session_id);
    return requests.snapshotAt(session_id, turn_id, 'end');
  }

  /** Writes the files of a snapshot into a new worktree, which has the commit of the snapshot. Throws `conflict`. */
  writeTo(worktree: Worktree, snapshot: Taken): Promise<void> {
    return this.#deps.requests.work(snapshot.session_id, (work) =>
      writeSnapshot(work, worktree, snapshot),
    );
  }

  /** Restores the directory of a session to a snapshot. Throws `conflict` if somebody else changed files since. */
  restoreAll(snapshot: Taken): Promise<void> {
    return this.#deps.requests.work(snapshot.session_id, (work) => restoreSnapshot(work, snapshot));
  }

  /** Lists the files of a session, now or at a turn. Throws `not_found`, and `conflict` if they cannot be read. */
  files(
    sessionId: string,
    { turn_id, moment, path: below }: QueryOf<typeof listSessionFiles>,
  ): Promise<ResponseOf<typeof listSessionFiles>> {
    const { requests } = this.#deps;
    return requests.work(sessionId, async (work) => {
      const paths = below === undefined ? [] : [below];
      if (turn_id === undefined) {
        const checkout = await work.checkout();
        const objects = path.join(work.scratch, 'objects');
        const taken_at = requests.now();
        const now = await readFilesNow(checkout, { ...work, objects });
        const listed = await listTree(now.git, now.tree, paths);
        const about = { session_id: sessionId, turn_id: null, moment: null };
        return { ...about, root: checkout.files, taken_at, ...listed };
      }
      const snapshot = requests.snapshotAt(sessionId, turn_id, moment);
      const git = await requests.openSnapshots(work, snapshot);
      const { tree, root, taken_at } = snapshot;
      const listed = await listTree(git, tree, paths);
      return { session_id: sessionId, turn_id, moment, root: root ?? '', taken_at, ...listed };
    });
  }

  #answer(rx: Reader, sessionId: string, chosen = this.#deps.taker.choiceOf(sessionId)): Answer {
    const { sessionStore, store, taker } = this.#deps;
    const { id } = sessionStore.session(rx, sessionId);
    return {
      session_id: id,
      enabled: chosen ?? taker.isEnabled,
      chosen,
      snapshots: store.of(rx, id).map(summaryOfSnapshot),
    };
  }
}
