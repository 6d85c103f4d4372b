import type { SqlTools } from './connection.ts';
import type { Statement } from './statement.ts';
import type { Reader } from './transaction.ts';

/** A log that this one is a copy of. */
export interface Fork {
  /** The id of that log. */
  epoch: string;
  /** The last seq that both have. */
  seq: number;
}

/** The key of the newest forks first, as JSON, in the table `meta`. */
const KEY = 'forked_from';

/** The logs that the log of a store is a copy of, the newest first. */
export function forksOf(db: {
  prepare: (sql: string) => Statement<[string]>;
  peek: <T>(fn: (rx: Reader) => T) => T;
}): Fork[] {
  const statement = db.prepare(`SELECT value FROM meta WHERE key = '${KEY}'`);
  return parse(db.peek((rx) => statement.get(rx))?.[0]);
}

/** Gives a copy its own id, and keeps the id of the log that it was copied from, up to its newest seq. */
export function fork(sql: SqlTools, epoch: string): void {
  const known = parse(sql.one(`SELECT value FROM meta WHERE key = '${KEY}'`)?.[0]);
  const [from] = sql.one("SELECT value FROM meta WHERE key = 'epoch'") ?? [];
  const [seq] = sql.one('SELECT last_seq FROM sequence') ?? [];
  const forks: Fork[] = [{ epoch: String(from), seq: Number(seq) }, ...known];
  sql.one('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)', KEY, JSON.stringify(forks));
  sql.one("UPDATE meta SET value = ? WHERE key = 'epoch'", epoch);
}

function parse(text: unknown): Fork[] {
  return typeof text === 'string' ? (JSON.parse(text) as Fork[]) : [];
}
