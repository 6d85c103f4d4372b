import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { AppError, conflictError } from '../../api/errors.ts';
import { DATABASE_FILE, openConnection, type SqlTools } from './connection.ts';
import type { Database } from './database.ts';
import { fork } from './forks.ts';
import { isNoRoom, unless } from '../lib/system-error.ts';
import { asStorageError } from './storage-error.ts';

/** A backup in one file. The file is unlinked already: its bytes go when `file` is closed or the process dies. */
export interface Backup {
  file: fs.FileHandle;
  bytes: number;
  seq: number;
}

export interface BackupSettings {
  /** The data directory; the backup is made on the same disk. */
  directory: string;
  wasm: () => Uint8Array;
  newEpoch: () => string;
  /** Bytes of the disk that have to stay free. */
  minFreeBytes: () => number;
}

const CHUNK_BYTES = 1024 * 1024;
const COPY_PREFIX = 'backup-';

/** Makes backups of the open store, one at a time. Disposing it waits for the backup under way. */
export class Backups implements AsyncDisposable {
  readonly #db: Database;
  readonly #settings: BackupSettings;
  #making: Promise<Backup> | undefined;

  constructor({ db, ...settings }: BackupSettings & { db: Database }) {
    this.#db = db;
    this.#settings = settings;
    removeLeftovers(settings.directory);
  }

  /** Copies the store as it is now; transactions continue meanwhile. Throws `conflict` during another backup. */
  async make(signal: AbortSignal): Promise<Backup> {
    if (this.#making) {
      throw conflictError('a backup is already in progress: try again when it has finished');
    }
    this.#making = this.#make(signal);
    try {
      return await this.#making;
    } finally {
      this.#making = undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#making?.then(
      ({ file }) => file.close(),
      () => undefined,
    );
  }

  async #make(signal: AbortSignal): Promise<Backup> {
    using held = await this.#db.hold();
    return await backUpFiles(this.#settings, held.walBytes, signal);
  }
}

/** Copies the store of a directory that no server has open; the caller holds its lock. */
export function backUpClosed(settings: BackupSettings, signal: AbortSignal): Promise<Backup> {
  removeLeftovers(settings.directory);
  return backUpFiles(settings, Number.MAX_SAFE_INTEGER, signal);
}

/** A directory for a copy in the making, on the disk of the data directory. */
export function newCopyDirectory(directory: string): string {
  return mkdtempSync(path.join(directory, COPY_PREFIX));
}

/** Removes the partial backups of processes that were killed. */
export function removeLeftovers(directory: string): void {
  for (const name of readdirSync(directory))
    if (name.startsWith(COPY_PREFIX))
      rmSync(path.join(directory, name), { recursive: true, force: true });
}

/** Copies the files. They must not change meanwhile; the log may grow after `walBytes`. */
async function backUpFiles(
  settings: BackupSettings,
  walBytes: number,
  signal: AbortSignal,
): Promise<Backup> {
  const { directory } = settings;
  const copy = newCopyDirectory(directory);
  try {
    await assertRoom(settings, walBytes);
    for (const [name, limit] of [
      [DATABASE_FILE, Number.MAX_SAFE_INTEGER],
      [`${DATABASE_FILE}-wal`, walBytes],
    ] as const)
      await copyFile(path.join(directory, name), path.join(copy, name), limit, signal);
    const seq = await makeOwnStore(copy, settings);
    const file = await fs.open(path.join(copy, DATABASE_FILE));
    return { file, bytes: (await file.stat()).size, seq };
  } catch (error) {
    throw isNoRoom(error) ? noRoom(directory, error) : asStorageError(error);
  } finally {
    await fs.rm(copy, { recursive: true, force: true });
  }
}

async function assertRoom(
  { directory, minFreeBytes }: BackupSettings,
  walBytes: number,
): Promise<void> {
  const { bavail, bsize } = await fs.statfs(directory);
  const { size } = await fs.stat(path.join(directory, DATABASE_FILE));
  const log = await fs.stat(path.join(directory, `${DATABASE_FILE}-wal`)).catch(() => null);
  const needed = size + 2 * Math.min(walBytes, log?.size ?? 0);
  if (bavail * bsize - needed < minFreeBytes()) throw noRoom(directory);
}

function noRoom(directory: string, cause?: unknown): AppError {
  return new AppError(
    'storage_full',
    `cannot create a backup, because the disk of ${directory} has no space for a temporary second copy of the database: free some space`,
    { cause },
  );
}

/** Copies in pieces, so that a copy can be cancelled. A missing file counts as an empty one. */
async function copyFile(
  from: string,
  to: string,
  limit: number,
  signal: AbortSignal,
): Promise<void> {
  await using source = await fs.open(from).catch(unless('ENOENT'));
  if (!source) return;
  await using target = await fs.open(to, 'wx', 0o600);
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let at = 0; at < limit;) {
    signal.throwIfAborted();
    const { bytesRead } = await source.read(buffer, 0, Math.min(CHUNK_BYTES, limit - at), at);
    if (bytesRead === 0) return;
    await target.writeFile(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

/** Turns a copy, of any format, into an independent store in one file; returns its newest sequence number. */
export async function makeOwnStore(
  directory: string,
  settings: Pick<BackupSettings, 'wasm' | 'newEpoch'>,
): Promise<number> {
  using connection = await openConnection({ wasm: settings.wasm, directory });
  const { host, sql } = connection;
  const seq = Number(sql.one('SELECT last_seq FROM sequence')?.[0]);
  // The caller syncs the copy once it has its final name.
  for (const name of [DATABASE_FILE, `${DATABASE_FILE}-wal`]) {
    const file = host.file(name);
    if (file) file.deferSync = true;
  }
  detach(sql, settings.newEpoch());
  sql.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  return seq;
}

/**
 * Separates the copy from the original: it gets a log id of its own and keeps whose copy it is, and it forgets the
 * original's children, which may still run and are not its own to end.
 */
function detach(sql: SqlTools, epoch: string): void {
  sql.exec('BEGIN IMMEDIATE');
  fork(sql, epoch);
  sql.exec('DELETE FROM children');
  sql.exec('UPDATE runs SET swept_at = started_at WHERE swept_at IS NULL');
  sql.exec('COMMIT');
}
