import nodeFs from 'node:fs';
import path from 'node:path';
import os from 'node:os';
import type { Clock } from '../lib/clock.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import { Anchor, ANCHOR_FILE } from './anchor.ts';
import { configure, type Connection, DATABASE_FILE, openConnection } from './connection.ts';
import type { FileSystem } from './host/file-system.ts';
import { copyStore, removePartialCopies, syncNow, copyBefore } from './older-copies.ts';
import {
  anchorLog,
  type LostEvents,
  lostEvents,
  refuseDamagedSequence,
  refuseForeignLog,
  refuseLostStore,
} from './lost-store.ts';
import { migrate, type Migration, createTables } from './migrate.ts';
import { asStorageError } from './storage-error.ts';

interface OpenOptions {
  directory: string;
  wasm: () => Uint8Array;
  clock: Clock;
  /** The version of this program, written into the data. */
  version: string;
  newEpoch: () => string;
  fs?: FileSystem;
  /** The bytes of a database that holds nothing, with which a new directory begins; absent: its tables are created. */
  template?: Uint8Array | undefined;
  failpoint?: Failpoint;
  /** Called before data of an older version are copied and changed, which takes minutes where they are gigabytes. */
  onMigrating?: (older: { format: number; bytes: number }) => void;
  /** Called about problems that resolve themselves. */
  onWarning?: (message: string, error: unknown) => void;
}

export interface DatabaseOptions extends OpenOptions {
  /**
   * `full`: an acknowledged change is on the disk. `normal`: it is in the operating system's cache, and a power loss
   * may lose the newest changes.
   */
  durability: 'full' | 'normal';
  failpoint: Failpoint;
  /** Called once when durability is lost. It must end the process: no request is answered after it. */
  onFatal: (error: Error) => void;
  /** The WAL is written back into the database once it passes this many bytes. */
  checkpointBytes?: number;
}

export interface Opened {
  connection: Connection;
  migration: Migration | null;
  /** Where the position of the log is kept; null where that cannot be written. */
  anchor: Anchor | null;
  lost: LostEvents | null;
}

/**
 * Opens (and if necessary creates or migrates) the database of a directory that the caller has locked. Where the newest
 * events are lost, the log gets a new id. Throws `storage_damaged` for data that are missing, cannot be read or are of a
 * newer version.
 */
export async function openMigrated(options: OpenOptions): Promise<Opened> {
  const { directory, wasm, fs = nodeFs, clock, version, newEpoch, template } = options;
  refuseLostStore(directory);
  const anchor = openAnchor(options);
  let connection: Connection | undefined;
  let isNew = false;
  try {
    const last = anchor?.found ?? null;
    await refuseForeignLog(directory, last, wasm);
    if (template) copyTemplate(template, directory);
    connection = await openConnection({ wasm, directory, fs });
    const { sql } = connection;
    configure(sql);
    const migration = migrate(sql, {
      version,
      newLog() {
        isNew = true;
        const epoch = newEpoch();
        // The last position of a lost log is needed below.
        return { epoch, isAnchored: !last && (anchor?.establish({ epoch, seq: 0 }) ?? false) };
      },
      now: clock.now(),
      backup(format) {
        const { size: bytes } = nodeFs.statSync(path.join(directory, DATABASE_FILE));
        options.onMigrating?.({ format, bytes });
        return backUp(directory, format);
      },
      failpoint: options.failpoint,
    });
    refuseDamagedSequence(sql, directory);
    const lost = anchor && lostEvents(sql, { directory, last, newEpoch: isNew ? null : newEpoch });
    if (anchor) anchorLog(sql, anchor);
    return { connection, migration, anchor, lost };
  } catch (error) {
    connection?.[Symbol.dispose]();
    anchor?.close();
    throw asStorageError(error);
  }
}

/** Copies the database before a migration; no one else has it open, and its WAL has been written back. */
function backUp(directory: string, format: number): string {
  removePartialCopies(directory);
  const copy = copyBefore(directory, format);
  copyStore(path.join(directory, DATABASE_FILE), copy);
  return copy;
}

/** Returns null where the system refuses the file: a start needs no anchor. */
function openAnchor({ directory, fs = nodeFs, clock, onWarning }: OpenOptions): Anchor | null {
  const warn = onWarning ?? (() => undefined);
  try {
    return new Anchor({ directory, fs, clock, onWarning: warn });
  } catch (error) {
    warn(`cannot open ${ANCHOR_FILE}: a lost log would not be detected`, error);
    return null;
  }
}

/**
 * Returns the bytes of a database of the newest format that holds nothing, not even what identifies it. The build ships
 * it with the program; the same sources give the same bytes.
 */
export async function makeTemplate(wasm: () => Uint8Array): Promise<Buffer> {
  const directory = nodeFs.mkdtempSync(path.join(os.tmpdir(), 'cadre-template-'));
  try {
    {
      using connection = await openConnection({ wasm, directory });
      configure(connection.sql);
      createTables(connection.sql);
    }
    return nodeFs.readFileSync(path.join(directory, DATABASE_FILE));
  } finally {
    nodeFs.rmSync(directory, { recursive: true });
  }
}

/**
 * Gives a directory without a database a copy of the template: to create the tables takes SQLite longer than all else
 * that a first start does. A crash leaves no database or a whole one. Where the system refuses the copy, nothing is
 * left of it: the tables are created then, and SQLite's error is the one that is reported.
 */
function copyTemplate(template: Uint8Array, directory: string): void {
  const file = path.join(directory, DATABASE_FILE);
  if (nodeFs.existsSync(file)) return;
  const fresh = `${file}.new`;
  try {
    nodeFs.writeFileSync(fresh, template, { mode: 0o600, flush: true });
    nodeFs.renameSync(fresh, file);
    syncNow(directory);
  } catch {
    removeQuietly(fresh);
  }
}

function removeQuietly(file: string): void {
  try {
    nodeFs.rmSync(file, { force: true });
  } catch {
    // SQLite is refused the same, and says so.
  }
}
