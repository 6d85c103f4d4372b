import type { Moment, Snapshot } from '../../../api/snapshots.ts';
import { conflictError, notFoundError } from '../../../api/errors.ts';
import type { Database } from '../../../core/store/database.ts';
import { RecordTable } from '../../../core/store/records.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';

/** A snapshot with what only the server needs of it. */
export interface StoredSnapshot extends Snapshot {
  /** The name of its object store; null if the snapshot could not be taken. */
  depot: string | null;
  /** The git directory of the repository that has all other objects. */
  repository: string | null;
}

/** The maximum number of snapshots of a session that are listed or searched. */
const NEWEST = 1000;

export class SnapshotStore {
  readonly #table: RecordTable<StoredSnapshot>;
  readonly #setChoice: Statement;
  readonly #dropChoice: Statement;
  readonly #choices: Statement<[sessionId: string, enabled: number]>;

  constructor(db: Database) {
    this.#table = new RecordTable<StoredSnapshot>(db, 'snapshots', idOf);
    this.#setChoice = db.prepare(
      `INSERT INTO snapshot_choices (session_id, enabled) VALUES (?, ?)
       ON CONFLICT (session_id) DO UPDATE SET enabled = excluded.enabled`,
    );
    this.#dropChoice = db.prepare('DELETE FROM snapshot_choices WHERE session_id = ?');
    this.#choices = db.prepare('SELECT session_id, enabled FROM snapshot_choices');
  }

  /** Stores a snapshot. A turn that continues after a restart keeps the snapshot of its first beginning. */
  add(tx: Writer, snapshot: StoredSnapshot): void {
    const before = this.#table.get(tx, idOf(snapshot));
    if (before === undefined) this.#table.insert(tx, snapshot);
    else if (snapshot.moment === 'end' || before.tree === null) this.#table.update(tx, snapshot);
  }

  /** Returns the newest snapshots of a session, oldest first. */
  of(rx: Reader, sessionId: string): StoredSnapshot[] {
    const newest = { index: 'snapshots_session', where: 'session_id = ?', order: 'n DESC' };
    return this.#table.first(rx, newest, NEWEST, sessionId).toReversed();
  }

  /** Returns a snapshot with a tree. Throws `not_found` if there is none, and `conflict` if it could not be taken. */
  at(rx: Reader, sessionId: string, turnId: string, moment: Moment): Taken {
    const found = this.#table.get(rx, idOf({ turn_id: turnId, moment }));
    if (found?.session_id !== sessionId)
      throw notFoundError(
        `session "${sessionId}" has no file snapshot of the ${moment} of turn "${turnId}"`,
      );
    if (isTaken(found)) return found;
    throw conflictError(
      `the file snapshot of the ${moment} of turn ${turnId} could not be taken: ${found.problem}`,
    );
  }

  /** Returns the snapshot of a moment of a turn, taken or not. */
  find(rx: Reader, turnId: string, moment: Moment): StoredSnapshot | undefined {
    return this.#table.get(rx, idOf({ turn_id: turnId, moment }));
  }

  /** Returns when the newest snapshot in an object store was taken; null if there is no snapshot. */
  newestIn(rx: Reader, objectStore: string): number | null {
    const newest = { index: 'snapshots_depot', where: 'depot = ?', order: 'n DESC' };
    return this.#table.first(rx, newest, 1, objectStore)[0]?.taken_at ?? null;
  }

  forgetObjectStore(tx: Writer, objectStore: string): void {
    this.#table.deleteWhere(tx, 'depot = ?', objectStore);
  }

  forgetSession(tx: Writer, sessionId: string): void {
    this.#table.deleteWhere(tx, 'session_id = ?', sessionId);
    this.#dropChoice.run(tx, sessionId);
  }

  /** Stores what a person chose for a session; null: nothing. */
  choose(tx: Writer, sessionId: string, enabled: boolean | null): void {
    if (enabled === null) this.#dropChoice.run(tx, sessionId);
    else this.#setChoice.run(tx, sessionId, Number(enabled));
  }

  choices(rx: Reader): Map<string, boolean> {
    return new Map(this.#choices.all(rx).map(([id, enabled]) => [id, enabled === 1]));
  }
}

export type Taken = StoredSnapshot & { tree: string; depot: string; repository: string };

export function isTaken(snapshot: StoredSnapshot): snapshot is Taken {
  return snapshot.tree !== null && snapshot.depot !== null && snapshot.repository !== null;
}

export function summaryOfSnapshot({
  depot: _depot,
  repository: _repository,
  ...told
}: StoredSnapshot): Snapshot {
  return told;
}

function idOf({ turn_id, moment }: Pick<Snapshot, 'turn_id' | 'moment'>): string {
  return `${turn_id}/${moment}`;
}
