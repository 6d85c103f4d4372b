import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../errors.ts';
import { ANCHOR_FILE, type Position } from './anchor.ts';
import { DATABASE_FILE, sqlTools } from './connection.ts';
import { openReadOnly } from './read-only.ts';

const WAL_FILE = `${DATABASE_FILE}-wal`;
/** What only a server that had a database leaves in its directory. Drafts and the lock of a first start are not among it. */
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
  throw new AppError(
    'storage_damaged',
    `${file} is ${found ? 'empty' : 'missing'}, but ${left.join(', ')} of a server with data ${left.length > 1 ? 'are' : 'is'} there: ` +
      'nothing was changed; restore a backup with cadre db restore FILE, or, to begin with an empty database, move ' +
      `${[...(found ? [DATABASE_FILE] : []), ...left].join(', ')} out of ${directory}`,
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
  throw new AppError(
    'storage_damaged',
    `${file} was replaced, and ${WAL_FILE} beside it belongs to the database that was there before: nothing was changed; ` +
      `move ${WAL_FILE} out of ${directory} and start again`,
  );
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
  const { host, handle } = await openReadOnly(file, wasm, { withoutLog: true });
  try {
    const sql = sqlTools(host, handle);
    sql.exec('PRAGMA locking_mode = EXCLUSIVE');
    const [epoch = null] = sql.one("SELECT value FROM meta WHERE key = 'epoch'") ?? [];
    return epoch === null ? null : String(epoch);
  } catch {
    return null;
  } finally {
    host.sqlite._sqlite3_close_v2(handle);
  }
}
