import fs from 'node:fs';
import path from 'node:path';
import { type Anchor, ANCHOR_FILE, ANCHORED, type Position } from './anchor.ts';
import { DATABASE_FILE, type SqlTools } from './connection.ts';
import { fork } from './forks.ts';
import { openReadOnly } from './read-only.ts';
import { SqliteError } from './raw-statement.ts';
import { damagedError, isCorruption } from './storage-error.ts';

/** Events that were on disk when the last server ended, and are gone. */
export interface LostEvents {
  /** The newest event that is left. */
  after_seq: number;
  /** The newest event that was there; null if that is not known. */
  up_to_seq: number | null;
}

/** The seqs that are skipped if an unknown number of events that clients have seen may be lost, so that none is used twice. */
export const SKIPPED_SEQS = 2 ** 20;

const WAL_FILE = `${DATABASE_FILE}-wal`;
/** Files that only a server with a database leaves in its directory: not drafts, and not the lock of a first start. */
const FILES = new Set([ANCHOR_FILE, WAL_FILE, 'server.json', 'search.cadre']);
const COPIES = [`${DATABASE_FILE}.before-`, `${DATABASE_FILE}.replaced-`];
const DIRECTORIES = new Set(['logs', 'blobs', 'snapshots']);

/**
 * Refuses a directory whose database is missing or empty while other data of a server are there: a start would begin an
 * empty database and replay the log of the lost one over it. Throws `storage_damaged`, naming the files.
 */
export function refuseLostStore(directory: string): void {
  const file = path.join(directory, DATABASE_FILE);
  const found = fs.statSync(file, { throwIfNoEntry: false });
  if (found && found.size > 0) return;
  const left = fs.readdirSync(directory).filter((name) => isTrace(directory, name));
  if (left.length === 0) return;
  throw damagedError(
    `the database file ${file} is ${found ? 'empty' : 'missing'}, but other files of that database ` +
      `still exist (${left.join(', ')}), so nothing was changed: move ${[...(found ? [DATABASE_FILE] : []), ...left].join(', ')}` +
      ` out of ${directory} to start with an empty database, or restore a backup`,
  );
}

/**
 * Refuses a database that was put beside the write-ahead log of another one, which SQLite would replay over it. `last`
 * is the last position of the log. Throws `storage_damaged`.
 */
export async function refuseForeignLog(
  directory: string,
  last: Position | null,
  wasm: () => Uint8Array,
): Promise<void> {
  const log = path.join(directory, WAL_FILE);
  if (!last || !fs.statSync(log, { throwIfNoEntry: false })?.size) return;
  const file = path.join(directory, DATABASE_FILE);
  const epoch = await epochIn(file, wasm);
  if (epoch === null || epoch === last.epoch) return;
  throw damagedError(
    `the database ${file} was replaced, but ${WAL_FILE} belongs to the previous database, so nothing was changed: ` +
      `move ${WAL_FILE} out of ${directory}, and start the server again`,
  );
}

/**
 * Refuses a database whose last sequence number is unreadable, or less than the one of an event: nobody would see the events,
 * and new events would get their numbers. One event with a much higher number is damaged itself, which its reader reports.
 * Throws `storage_damaged`.
 */
export function refuseDamagedSequence(sql: SqlTools, directory: string): void {
  const [last = null] = sql.one('SELECT last_seq FROM sequence WHERE id = 1') ?? [];
  const fault = Number.isSafeInteger(last) ? hiddenAfter(sql, Number(last)) : 'cannot be read';
  if (fault === null) return;
  throw damagedError(
    `the last sequence number in ${path.join(directory, DATABASE_FILE)} ${fault}, so nothing was changed: restore a backup`,
  );
}

/** Describes events with greater numbers than the last one; null if there are none, or if they cannot be read. */
function hiddenAfter(sql: SqlTools, last: number): string | null {
  const all = 'SELECT seq FROM events UNION ALL SELECT seq FROM deltas';
  const above = `SELECT seq FROM (${all}) WHERE seq > ? ORDER BY seq LIMIT 2`;
  try {
    const [next, afterNext] = sql.one(`SELECT min(seq), max(seq) FROM (${above})`, last) ?? [];
    const isOneDamaged = next === afterNext && Number(next) > last + 1;
    return next == null || isOneDamaged ? null : `is ${last}, but an event has ${String(next)}`;
  } catch (error) {
    if (error instanceof SqliteError && isCorruption(error)) return null;
    throw error;
  }
}

/**
 * Compares the log with its last position on disk. A log that lacks events, or that had an anchor and has none, gets a
 * new id, because readers have seen the events, and gives their numbers to no other event. Returns null where nothing is
 * lost.
 */
export function lostEvents(
  sql: SqlTools,
  options: {
    directory: string;
    /** The position in the anchor; null for an anchor that is new or damaged. */
    last: Position | null;
    /** Null for a log that has a new id already: all of it was lost. */
    newEpoch: (() => string) | null;
  },
): LostEvents | null {
  const { last, newEpoch } = options;
  const { epoch, seq: after_seq } = positionOf(sql);
  const isOfLog = last !== null && (newEpoch === null || last.epoch === epoch);
  if (isOfLog ? last.seq <= after_seq : !hadAnchor(sql, options)) return null;
  const up_to_seq = isOfLog ? last.seq : null;
  sql.exec('BEGIN IMMEDIATE');
  if (newEpoch) fork(sql, newEpoch());
  sql.one('UPDATE sequence SET last_seq = ? WHERE id = 1', up_to_seq ?? after_seq + SKIPPED_SEQS);
  sql.exec('COMMIT');
  // The anchor never has a newer id than the database file, which shows whose log lies beside it.
  sql.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  return { after_seq, up_to_seq };
}

/**
 * Writes the position of a log that has no anchor yet, and stores in the database file that it has one, so that a start
 * without the anchor is noticed. Both are synced, once in the life of a log.
 */
export function anchorLog(sql: SqlTools, anchor: Anchor): void {
  const position = positionOf(sql);
  if (anchoredEpoch(sql) === position.epoch || !anchor.establish(position)) return;
  sql.one(`INSERT OR REPLACE INTO meta (key, value) VALUES ('${ANCHORED}', ?)`, position.epoch);
  sql.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

/** Describes lost events, for people. */
export function lossText({ after_seq, up_to_seq }: LostEvents): string {
  return up_to_seq === null
    ? `the events after ${after_seq} may be lost: ${ANCHOR_FILE} was damaged or removed`
    : `the events ${after_seq + 1} to ${up_to_seq} are lost: ${WAL_FILE} was damaged or removed`;
}

function positionOf(sql: SqlTools): Position {
  const [epoch] = sql.one("SELECT value FROM meta WHERE key = 'epoch'") ?? [];
  const [seq] = sql.one('SELECT last_seq FROM sequence WHERE id = 1') ?? [];
  return { epoch: String(epoch), seq: Number(seq) };
}

/** The id of the newest log of which the database knows that it had an anchor. A backup has another id. */
function anchoredEpoch(sql: SqlTools): unknown {
  return sql.one(`SELECT value FROM meta WHERE key = '${ANCHORED}'`)?.[0];
}

/**
 * Whether the log of an unknown last position had one. A database that never wrote its log back does not know; then the
 * data beside it shows that it is not new.
 */
function hadAnchor(
  sql: SqlTools,
  { directory, newEpoch }: { directory: string; newEpoch: unknown },
): boolean {
  if (newEpoch !== null) return anchoredEpoch(sql) === positionOf(sql).epoch;
  return fs
    .readdirSync(directory)
    .some((name) => ![ANCHOR_FILE, WAL_FILE].includes(name) && isTrace(directory, name));
}

function isTrace(directory: string, name: string): boolean {
  const file = path.join(directory, name);
  if (DIRECTORIES.has(name)) return fs.readdirSync(file).length > 0;
  const isOfServer = FILES.has(name) || COPIES.some((begin) => name.startsWith(begin));
  const { size = 0 } = (isOfServer && fs.lstatSync(file, { throwIfNoEntry: false })) || {};
  return size > 0;
}

/** The id of the log in the file of a store, without its write-ahead log; null where it cannot be read there. */
async function epochIn(file: string, wasm: () => Uint8Array): Promise<string | null> {
  using connection = await openReadOnly(file, wasm, { withoutLog: true });
  try {
    const [epoch = null] = connection.sql.one("SELECT value FROM meta WHERE key = 'epoch'") ?? [];
    return epoch === null ? null : String(epoch);
  } catch {
    return null;
  }
}
