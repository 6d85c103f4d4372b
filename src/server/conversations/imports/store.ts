import type { PastTurn } from '../../../api/conversations.ts';
import type { Session } from '../../../api/sessions.ts';
import type { ConversationMark } from '../../../agents/conversations.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { Database } from '../../../core/store/database.ts';
import { RecordTable } from '../../../core/store/records.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';

export interface Import {
  session_id: string;
  /** Provider, agent and ref of the conversation. Null once the session is closed. */
  conversation: string | null;
  ref: string;
  /** Maximum number of past turns to store at first. */
  history: number;
  /** `reading`: the past turns are not all stored yet. */
  status: 'reading' | 'done';
  /** The newest turn of the conversation that the session has. Null before the first reading. */
  head: ConversationMark | null;
}

export class ImportStore {
  readonly #log: EventLog;
  readonly imports: RecordTable<Import>;
  readonly turns: RecordTable<PastTurn>;
  readonly #count: Statement<[number]>;
  readonly #has: Statement<[number]>;

  constructor({ db, log }: { db: Database; log: EventLog }) {
    this.#log = log;
    this.imports = new RecordTable<Import>(db, 'imports', ({ session_id }) => session_id);
    this.turns = new RecordTable<PastTurn>(db, 'past_turns', ({ past_turn_id }) => past_turn_id);
    this.#count = db.prepare('SELECT count(*) FROM past_turns WHERE session_id = ?');
    this.#has = db.prepare('SELECT 1 FROM past_turns WHERE session_id = ? AND ref = ?');
  }

  ofConversation(rx: Reader, conversation: string): Import | undefined {
    return this.imports.where(rx, 'conversation = ?', conversation)[0];
  }

  /** Returns the imports whose past turns are not all stored, oldest first. */
  reading(rx: Reader): Import[] {
    return this.imports.where(rx, "status = 'reading'");
  }

  hasTurn(rx: Reader, sessionId: string, ref: string): boolean {
    return this.#has.get(rx, sessionId, ref) !== undefined;
  }

  addTurn(tx: Writer, past_turn: PastTurn): void {
    this.turns.insert(tx, past_turn);
    const { session_id } = past_turn;
    this.#log.append(tx, { kind: 'past.turn', session_id, payload: { past_turn } });
  }

  /** Returns up to `limit` past turns of a session, newest first. */
  newestTurns(rx: Reader, sessionId: string, limit: number): PastTurn[] {
    const of = { index: 'past_turns_session', where: 'session_id = ?', order: 'n DESC' };
    return this.turns.first(rx, of, limit, sessionId);
  }

  firstTurn(rx: Reader, sessionId: string): PastTurn | undefined {
    const of = { index: 'past_turns_session', where: 'session_id = ?', order: 'n' };
    return this.turns.first(rx, of, 1, sessionId)[0];
  }

  countTurns(rx: Reader, sessionId: string): number {
    return this.#count.get(rx, sessionId)?.[0] ?? 0;
  }

  /** Lets another session continue the conversation of a closed session. */
  close(tx: Writer, { id }: Session): void {
    const row = this.imports.get(tx, id);
    if (row) this.imports.update(tx, { ...row, conversation: null, status: 'done' });
  }

  forget(tx: Writer, sessionId: string): void {
    this.imports.delete(tx, sessionId);
    this.turns.deleteWhere(tx, 'session_id = ?', sessionId);
  }
}

/** The time at which a past turn began, as far as it is known. */
export function timeOf({ occurred_at, created_at }: PastTurn): number {
  return occurred_at ?? created_at;
}
