import { isAppError } from '../../../api/errors.ts';
import type { Item, Session, Turn } from '../../../api/sessions.ts';
import type { SessionStore } from '../sessions/store.ts';
import { checksum } from '../../../core/store/corruption-log.ts';
import type { Database } from '../../../core/store/database.ts';
import type { SqlValue } from '../../../core/store/raw-statement.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import { type Document, itemDocument, promptOf, titleDocumentOf } from './documents.ts';

/** The tables of the store that have texts, in the order of their numbers in `sourceOf`. */
export const tables = ['turns', 'items', 'sessions'] as const;
export type Table = (typeof tables)[number];

export interface Row {
  table: Table;
  n: number;
  at: number;
  sessionId: string;
  /** null: it has no text, or none yet. */
  document: Document | null;
  isOpen: boolean;
}

export interface RowPage {
  rows: Row[];
  isEnd: boolean;
}

/** A page ends after so many bytes, so that none blocks the event loop for long. */
const PAGE_BYTES = 128 * 1024;
const TABLES = 4;

/** Damage may have made anything of the texts of a row. */
type StoredRow = [n: number, id: SqlValue, record: SqlValue, sum: number];

/** The rows of turns, items and sessions in the order in which they were made. Reads are of rows that are on the disk. */
export class Rows {
  readonly #db: Database;
  readonly #store: SessionStore;
  readonly #pages: Record<'after' | 'before', Record<Table, Statement<StoredRow>>>;
  readonly #last: Record<Table, Statement<[number | null]>>;
  readonly #changed: Statement<[seq: number, session: string]>;
  readonly #sessionRow: Statement<[number]>;

  constructor({ db, store }: { db: Database; store: SessionStore }) {
    this.#db = db;
    this.#store = store;
    const each = <T>(make: (table: Table) => T) =>
      Object.fromEntries(tables.map((table) => [table, make(table)])) as Record<Table, T>;
    const page = (table: Table, condition: string) =>
      db.prepare<StoredRow>(`SELECT n, id, record, sum FROM ${table} WHERE n ${condition} LIMIT ?`);
    this.#pages = {
      after: each((table) => page(table, '> ? ORDER BY n')),
      before: each((table) => page(table, '< ? ORDER BY n DESC')),
    };
    this.#last = each((table) => db.prepare(`SELECT max(n) FROM ${table}`));
    this.#changed = db.prepare(
      `SELECT seq, session_id FROM events INDEXED BY events_kind
       WHERE kind = 'session.updated' AND seq > ? ORDER BY seq LIMIT ?`,
    );
    this.#sessionRow = db.prepare('SELECT n FROM sessions WHERE id = ?');
  }

  newest(): Promise<Record<Table | 'events', number>> {
    return this.#db.read((rx) => ({
      ...(Object.fromEntries(
        tables.map((table) => [table, this.#last[table].get(rx)?.[0] ?? 0]),
      ) as Record<Table, number>),
      events: this.#db.durableSeq,
    }));
  }

  items(ns: readonly number[]): Promise<(Row | null)[]> {
    return this.#db.read((rx) =>
      ns.map((n) => {
        const [item] = this.#store.items.whereIntact(rx, 'n = ?', n).records;
        return item ? rowOf('items', n, item) : null;
      }),
    );
  }

  /** The sessions that changed otherwise than by their turns, after the event `seq`. */
  changedSessions(seq: number, limit: number): Promise<{ seq: number; ids: string[] }> {
    return this.#db.read((rx) => {
      const rows = this.#changed.all(rx, seq, limit);
      return { seq: rows.at(-1)?.[0] ?? seq, ids: [...new Set(rows.map(([, id]) => id))] };
    });
  }

  session(id: string): Promise<{ n: number; session: Session } | undefined> {
    return this.#db.read((rx) => {
      const n = this.sessionRow(rx, id);
      const session = intact(() => this.#store.sessions.get(rx, id));
      return n === undefined || !session ? undefined : { n, session };
    });
  }

  sessionRow(rx: Reader, id: string): number | undefined {
    return this.#sessionRow.get(rx, id)?.[0];
  }

  /** Whether retention has trimmed the session of a row whole. */
  isTrimmed(n: number): Promise<boolean> {
    return this.#db.read((rx) => {
      const { records, damaged } = this.#store.sessions.whereIntact(rx, 'n = ?', n);
      return damaged.length === 0 && records[0]?.trimmed !== false;
    });
  }

  /** The text of a source as it is stored now; null where there is none any more, or it is damaged. */
  document(rx: Reader, source: number): Document | null {
    const n = Math.floor(source / TABLES);
    const table = tables[source % TABLES];
    try {
      const [record] = table ? this.#store[table].where(rx, 'n = ?', n) : [];
      return table && record ? documentOf(table, record) : null;
    } catch {
      // The store has noted the corruption, and health reports it.
      return null;
    }
  }

  /** Returns rows of a table after the row `n`, oldest first, or before it, newest first. */
  page(way: 'after' | 'before', table: Table, n: number, limit: number): Promise<RowPage> {
    return this.#db.read((rx) => {
      const rows: Row[] = [];
      let bytes = 0;
      this.#pages[way][table].scan(rx, [n, limit], (row) => {
        bytes += String(row[2]).length;
        rows.push(intact(() => this.#rowOf(table, row)) ?? damagedRow(table, row[0]));
        return bytes < PAGE_BYTES;
      });
      return { rows, isEnd: rows.length < limit && bytes < PAGE_BYTES };
    });
  }

  #rowOf(table: Table, [n, id, record, sum]: StoredRow): Row {
    const text = String(record);
    this.#db.damage.verify(text, sum, { table, row: n }, checksum(String(id)));
    return rowOf(table, n, JSON.parse(text) as Turn | Item | Session);
  }
}

/** Returns what `read` returns; null for a damaged row. The store has noted the corruption, and health reports it. */
export function intact<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (isAppError(error, 'storage_damaged')) return null;
    throw error;
  }
}

/** A row whose text is not known, in the place of one that is damaged. It has no time: it comes before older rows. */
function damagedRow(table: Table, n: number): Row {
  return { table, n, at: Infinity, sessionId: '', document: null, isOpen: false };
}

export function sourceOf({ table, n }: Pick<Row, 'table' | 'n'>): number {
  return n * TABLES + tables.indexOf(table);
}

function rowOf(table: Table, n: number, record: Turn | Item | Session): Row {
  const document = documentOf(table, record);
  const at = 'accepted_at' in record ? record.accepted_at : record.created_at;
  return {
    table,
    n,
    at: document?.at ?? (at as number),
    sessionId: (table === 'sessions' ? record.id : record.session_id) as string,
    document,
    isOpen: table === 'items' && record.status === 'open',
  };
}

function documentOf(table: Table, record: Turn | Item | Session): Document | null {
  if (table === 'turns') return promptOf(record as Turn);
  return table === 'items' ? itemDocument(record as Item) : titleDocumentOf(record as Session);
}
