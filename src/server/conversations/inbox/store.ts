import type { Turn } from '../../../api/sessions.ts';
import type { Database } from '../../../core/store/database.ts';
import { EmptyKeys } from '../../../core/store/empty-keys.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';

/** An entry of the inbox, identified by its owner and the owner's reference. */
export interface InboxEntry {
  owner: string;
  ref: string;
  /** Text that the owner stores only here; null: it stores all in rows of its own. */
  text: string | null;
}

interface NewEntry {
  session_id: string;
  owner: string;
  ref: string;
  /** Entries of lower rank come first. */
  rank: number;
  /** Whether the entry becomes no turn until its owner puts it again without this flag. */
  held?: boolean;
  /** Whether the running turn is to be interrupted at its next tool boundary. */
  interrupts?: boolean;
  text?: string;
}

type TurnIds = Pick<Turn, 'session_id' | 'turn_id'>;

type EntryRow = [owner: string, ref: string, text: string | null];

export class InboxStore {
  readonly #put: Statement;
  readonly #remove: Statement;
  readonly #assign: Statement;
  readonly #nextFor: Statement<EntryRow>;
  readonly #waitingFor: Statement<EntryRow>;
  readonly #ofTurn: Statement<EntryRow>;
  readonly #wantsInterrupt: Statement<[number]>;
  readonly #sessionsWithEntries: Statement<[string]>;
  readonly #order: Statement<[ref: string, n: number]>;
  readonly #leave: Statement;
  readonly #setPosition: Statement;
  readonly #withoutWaiting: EmptyKeys;
  readonly #withoutTurn: EmptyKeys;

  constructor(db: Database) {
    const entries = 'SELECT owner, ref, text FROM inbox WHERE';
    this.#put = db.prepare(
      `INSERT INTO inbox (session_id, owner, ref, rank, held, interrupts, text)
       VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (owner, ref) DO UPDATE SET held = excluded.held, interrupts = excluded.interrupts`,
    );
    this.#remove = db.prepare('DELETE FROM inbox WHERE owner = ? AND ref = ?');
    this.#assign = db.prepare('UPDATE inbox SET turn_id = ? WHERE owner = ? AND ref = ?');
    this.#nextFor = db.prepare(
      `${entries} session_id = ? AND held = 0 AND turn_id IS NULL ORDER BY rank, n`,
    );
    this.#waitingFor = db.prepare(`${entries} session_id = ? AND turn_id IS NULL ORDER BY n`);
    this.#ofTurn = db.prepare(`${entries} turn_id = ? ORDER BY rank, n`);
    this.#order = db.prepare(
      'SELECT ref, n FROM inbox WHERE session_id = ? AND owner = ? ORDER BY rank, n',
    );
    this.#leave = db.prepare('UPDATE inbox SET n = -n WHERE owner = ? AND ref = ?');
    this.#setPosition = db.prepare('UPDATE inbox SET n = ? WHERE owner = ? AND ref = ?');
    this.#wantsInterrupt = db.prepare(
      `SELECT 1 FROM inbox WHERE session_id = ? AND held = 0 AND turn_id IS NULL
       AND interrupts = 1 LIMIT 1`,
    );
    this.#sessionsWithEntries = db.prepare(
      'SELECT DISTINCT session_id FROM inbox WHERE turn_id IS NULL',
    );
    this.#withoutWaiting = new EmptyKeys(db, 'inbox', 'session_id', 'turn_id IS NULL');
    this.#withoutTurn = new EmptyKeys(db, 'inbox', 'turn_id');
  }

  /** Adds an entry. An entry that is there already keeps its position, and only its `held` and `interrupts` change. */
  put(tx: Writer, { session_id, owner, ref, rank, held, interrupts, text }: NewEntry): void {
    this.#withoutWaiting.delete(session_id);
    this.#put.run(tx, session_id, owner, ref, rank, held ? 1 : 0, interrupts ? 1 : 0, text ?? null);
  }

  remove(tx: Writer, owner: string, ref: string): void {
    this.#remove.run(tx, owner, ref);
  }

  assign(tx: Writer, { owner, ref }: InboxEntry, turn: TurnIds): void {
    this.#withoutTurn.delete(turn.turn_id);
    this.#assign.run(tx, turn.turn_id, owner, ref);
  }

  /** Lets an entry of a turn wait again, at its old position. */
  putBack(tx: Writer, { owner, ref }: InboxEntry, turn: TurnIds): void {
    this.#withoutWaiting.delete(turn.session_id);
    this.#assign.run(tx, null, owner, ref);
  }

  /** Must be called for a turn that no entry became. */
  turnSent(tx: Writer, turn: TurnIds): void {
    this.#withoutTurn.add(tx, turn.turn_id);
  }

  order(rx: Reader, sessionId: string, owner: string): string[] {
    return this.#order.all(rx, sessionId, owner).map(([ref]) => ref);
  }

  /** Orders the entries of an owner for a session: they share the positions that they have. `refs` names all of them. */
  arrange(tx: Writer, sessionId: string, owner: string, refs: readonly string[]): void {
    const positions = this.#order.all(tx, sessionId, owner).map(([, n]) => n);
    for (const ref of refs) this.#leave.run(tx, owner, ref);
    for (const [at, ref] of refs.entries())
      this.#setPosition.run(tx, positions[at] ?? null, owner, ref);
  }

  /** Returns the entries that may become the next turn of a session, by rank, then oldest first. */
  nextFor(rx: Reader, sessionId: string): InboxEntry[] {
    if (this.#withoutWaiting.has(rx, sessionId)) return [];
    return this.#nextFor.all(rx, sessionId).map(entryOf);
  }

  /** Whether an entry waits for a session that may become its next turn. */
  hasNext(rx: Reader, sessionId: string): boolean {
    return (
      !this.#withoutWaiting.has(rx, sessionId) && this.#nextFor.get(rx, sessionId) !== undefined
    );
  }

  /** Returns all entries that wait for a session, including held ones, oldest first. */
  waitingFor(rx: Reader, sessionId: string): InboxEntry[] {
    return this.#waitingFor.all(rx, sessionId).map(entryOf);
  }

  ofTurn(rx: Reader, turnId: string): InboxEntry[] {
    if (this.#withoutTurn.has(rx, turnId)) return [];
    return this.#ofTurn.all(rx, turnId).map(entryOf);
  }

  wantsInterrupt(rx: Reader, sessionId: string): boolean {
    return (
      !this.#withoutWaiting.has(rx, sessionId) &&
      this.#wantsInterrupt.get(rx, sessionId) !== undefined
    );
  }

  sessionsWithEntries(rx: Reader): string[] {
    return this.#sessionsWithEntries.all(rx).map(([sessionId]) => sessionId);
  }
}

function entryOf([owner, ref, text]: EntryRow): InboxEntry {
  return { owner, ref, text };
}
