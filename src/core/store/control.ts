import type { RawStatement } from './raw-statement.ts';

/** The statements that begin and end groups, and the members within them. */
export class Control {
  readonly begin: RawStatement;
  readonly commit: RawStatement;
  readonly rollback: RawStatement;
  readonly savepoint: RawStatement;
  readonly release: RawStatement;
  readonly writeSeq: RawStatement;
  readonly #back: RawStatement;

  constructor(prepare: (sql: string) => RawStatement) {
    this.begin = prepare('BEGIN IMMEDIATE');
    this.commit = prepare('COMMIT');
    this.rollback = prepare('ROLLBACK');
    this.savepoint = prepare('SAVEPOINT member');
    this.release = prepare('RELEASE member');
    this.writeSeq = prepare('UPDATE sequence SET last_seq = ? WHERE id = 1');
    this.#back = prepare('ROLLBACK TO member');
  }

  /** Rolls a member back to its savepoint; returns false if SQLite has already rolled back the whole group. */
  takeBack(): boolean {
    try {
      this.#back.run();
      this.release.run();
      return true;
    } catch {
      return false;
    }
  }
}
