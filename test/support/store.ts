import { spawnSync } from 'node:child_process';
import nodeFs from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { RuntimeEventRecord } from '../../src/api/events.ts';
import type { EventDraft } from '../../src/core/events/event.ts';
import { EventLog, type LogEntry } from '../../src/core/events/log.ts';
import { type Clock, systemClock } from '../../src/core/lib/clock.ts';
import type { FailpointName } from '../../src/core/lib/failpoint.ts';
import type { Ids } from '../../src/core/lib/ids.ts';
import { DATABASE_FILE } from '../../src/core/store/connection.ts';
import type { Database } from '../../src/core/store/database.ts';
import type { DatabaseOptions } from '../../src/core/store/open.ts';
import type { FileSystem } from '../../src/core/store/host/file-system.ts';
import type { SqlValue } from '../../src/core/store/raw-statement.ts';
import { RecordTable } from '../../src/core/store/records.ts';
import type { Writer } from '../../src/core/store/transaction.ts';
import { openDatabase } from './database.ts';
import { tempDirectory, testDirectory } from './temp.ts';
import { untypedDraft } from './untyped-events.ts';
import { pageOf } from './entries.ts';

export { DATABASE_FILE } from '../../src/core/store/connection.ts';
export const WAL_FILE = `${DATABASE_FILE}-wal`;

/** A record for the table `sessions` with only the fields that tests need. */
export interface Note {
  id: string;
  status: string;
  provider: string;
  active_turn_id: string | null;
  version: number;
  text: string;
}

export function note(id: string, rest: Partial<Note> = {}): Note {
  return {
    id,
    status: 'ready',
    provider: 'acp',
    active_turn_id: null,
    version: 1,
    text: '',
    ...rest,
  };
}

/** Returns an event about a note. */
export function eventDraft(id: string, payload: Record<string, unknown> = {}): EventDraft {
  return untypedDraft({ kind: 'session.updated', session_id: id, payload });
}

/** A database on a directory, with the reports that tests check. */
export interface TestStore extends AsyncDisposable {
  db: Database;
  log: EventLog;
  notes: RecordTable<Note>;
  /** The errors that `onFatal` has received. */
  fatal: Error[];
  warnings: { message: string; error: unknown }[];
  /** The failpoints that were passed, in order. */
  passed: FailpointName[];
  /** Inserts a note and an event about it. */
  write(tx: Writer, id: string, text?: string): RuntimeEventRecord;
  /** Returns all entries that are on disk. */
  entries(): LogEntry[];
}

/** Opens the store of a directory; disposing it closes the database, unless a fatal error has occurred. */
export async function openStore(
  directory: string,
  options: Partial<DatabaseOptions> = {},
): Promise<TestStore> {
  const fatal: Error[] = [];
  const warnings: TestStore['warnings'] = [];
  const passed: FailpointName[] = [];
  const clock = options.clock ?? steppingClock();
  const db = await openDatabase(directory, {
    clock,
    failpoint: (name) => void passed.push(name),
    onFatal: (error) => void fatal.push(error),
    onWarning: (message, error) => void warnings.push({ message, error }),
    newEpoch: () => `epoch_${nodeFs.statSync(directory).ino}`,
    ...options,
  });
  const log = new EventLog({ db, clock, ids: countingIds() });
  const notes = new RecordTable<Note>(db, 'sessions', ({ id }) => id);
  return {
    db,
    log,
    notes,
    fatal,
    warnings,
    passed,
    write(tx, id, text = '') {
      notes.insert(tx, note(id, { text }));
      return log.append(tx, eventDraft(id));
    },
    entries: () =>
      pageOf(
        log,
        { name: 'runtime' },
        { after: 0, upTo: db.durableSeq, limit: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER },
      ).entries,
    async [Symbol.asyncDispose]() {
      if (fatal.length === 0) await db.close();
    },
  };
}

/** Opens a store in a new directory, which is closed when the test has finished. */
export async function freshStore(
  options?: Partial<DatabaseOptions>,
): Promise<{ store: TestStore; directory: string }> {
  const directory = testDirectory();
  const store = await openStore(directory, options);
  onTestFinished(() => store[Symbol.asyncDispose]());
  return { store, directory };
}

/** Opens a store on a test disk, which is closed when the test has finished. */
export async function storeOnTestDisk(options?: Partial<DatabaseOptions>) {
  const disk = testDisk();
  return { disk, ...(await freshStore({ fs: disk.fs, ...options })) };
}

/** Returns the system clock, except that each call of `now` is one millisecond later. */
export function steppingClock(start = 1_700_000_000_000): Clock & { skip(ms: number): void } {
  let now = start;
  return { ...systemClock, now: () => ++now, skip: (ms) => void (now += ms) };
}

export function countingIds(): Ids {
  let count = 0;
  return { next: (prefix) => `${prefix}_${++count}` };
}

/** Returns an error with a code, like an error of the operating system. */
export function systemError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated`), { code });
}

/** Waits for so many turns of the event loop. */
export async function loopTurns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}

/** Reports whether a promise settles while only the event loop turns. */
export async function settlesByItself(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = () => void (settled = true);
  promise.then(settle, settle);
  await loopTurns(10);
  return settled;
}

/** Reports whether a promise is fulfilled while only the event loop turns; a rejection does not count. */
export async function isAcknowledged(...promises: Promise<unknown>[]): Promise<boolean> {
  let acknowledged = false;
  for (const promise of promises) {
    promise.then(
      () => void (acknowledged = true),
      () => undefined,
    );
  }
  await loopTurns(10);
  return acknowledged;
}

type SyncDone = (error: NodeJS.ErrnoException | null) => void;

export interface HeldSyncs extends Disposable {
  /** Resolves with the callback of the next sync, which the test calls when the sync is done. */
  next(): Promise<SyncDone>;
  /** Returns the number of requested syncs. */
  asked(): number;
}

/** The most that a disk of a test takes at once, so that it can fill or lose power within the write of a commit. */
export const WRITE_BYTES = 4096;

/** The file system of `node:fs`; a test can refuse its writes and hold its fdatasync calls. */
export interface TestDisk {
  fs: FileSystem;
  /** Lines `write <file>`, `sync <file>` (requested), `synced <file>` and `fsync <file>`, and lines of the test. */
  journal: string[];
  /** Called before each write; returns the number of bytes that the disk accepts, or throws an error of the disk. */
  onWrite: (file: string, bytes: number) => number;
  /** Called before each read; may throw an error of the disk. */
  onRead: (file: string) => void;
  /** Called for each fdatasync; calls `done` when the sync is done. */
  onSync: (file: string, done: SyncDone) => void;
  /** Called before each fsync, which SQLite itself calls on this thread; may throw an error of the disk. */
  onFsync: (file: string) => void;
  /** Holds each fdatasync of `file` for the test until it is disposed. */
  holdSyncs(file: string): HeldSyncs;
  /** Returns the number of equal lines in the journal. */
  count(entry: string): number;
}

export function testDisk(): TestDisk {
  const names = new Map<number, string>();
  const nameOf = (fd: number) => names.get(fd) ?? 'directory';
  const disk: TestDisk = {
    fs: {
      ...nodeFs,
      openSync(...args) {
        const fd = nodeFs.openSync(...args);
        names.set(fd, path.basename(String(args[0])));
        return fd;
      },
      readSync: ((fd: number, into: Buffer, at: number, length: number, position: number) => {
        disk.onRead(nameOf(fd));
        return nodeFs.readSync(fd, into, at, length, position);
      }) as FileSystem['readSync'],
      writeSync: ((fd: number, from: Buffer, at: number, length: number, position: number) => {
        const taken = Math.min(length, disk.onWrite(nameOf(fd), length), WRITE_BYTES);
        disk.journal.push(`write ${nameOf(fd)}`);
        return nodeFs.writeSync(fd, from, at, taken, position);
      }) as FileSystem['writeSync'],
      fsyncSync(fd) {
        disk.onFsync(nameOf(fd));
        disk.journal.push(`fsync ${nameOf(fd)}`);
      },
      fdatasync: ((fd: number, done: SyncDone) => {
        const file = nameOf(fd);
        disk.journal.push(`sync ${file}`);
        disk.onSync(file, (error) => {
          if (!error) disk.journal.push(`synced ${file}`);
          done(error);
        });
      }) as unknown as FileSystem['fdatasync'],
    },
    journal: [],
    onWrite: (_file, bytes) => bytes,
    onRead: () => undefined,
    onSync: (_file, done) => void setImmediate(done, null),
    onFsync: () => undefined,
    holdSyncs(held) {
      const before = disk.onSync;
      const given: SyncDone[] = [];
      const open = new Set<SyncDone>();
      const wanted: ((done: SyncDone) => void)[] = [];
      let asked = 0;
      disk.onSync = (file, done) => {
        if (file !== held) return before(file, done);
        asked++;
        const once: SyncDone = (error) => {
          if (open.delete(once)) done(error);
        };
        open.add(once);
        const want = wanted.shift();
        if (want) want(once);
        else given.push(once);
      };
      return {
        asked: () => asked,
        next: () => {
          const done = given.shift();
          return done ? Promise.resolve(done) : new Promise((resolve) => wanted.push(resolve));
        },
        [Symbol.dispose]() {
          disk.onSync = before;
          for (const done of open) done(null);
        },
      };
    },
    count: (entry) => disk.journal.filter((line) => line === entry).length,
  };
  return disk;
}

/** Copies the files of a store in their current state, as if the process had been killed now. */
export function copyStore(from: string, to: string): void {
  nodeFs.mkdirSync(to, { recursive: true });
  for (const name of nodeFs.readdirSync(from)) {
    if (name.startsWith(DATABASE_FILE))
      nodeFs.copyFileSync(path.join(from, name), path.join(to, name));
  }
}

/** Returns the result of SQLite's integrity check of an open store: `ok`, or the errors. */
export function integrity(db: Database): string {
  return query<[string]>(db, 'PRAGMA integrity_check')
    .map(([line]) => line)
    .join('\n');
}

/** Returns the current rows of a query. */
export function query<Row extends readonly SqlValue[]>(
  db: Database,
  sql: string,
  ...values: SqlValue[]
): Row[] {
  const query = db.prepare<Row>(sql);
  return db.peek((rx) => query.all(rx, ...values));
}

export const hasSqliteCli = spawnSync('sqlite3', ['--version']).status === 0;

/** Runs SQL on the store of a directory with the `sqlite3` command; returns its output. */
export function sqliteCli(directory: string, sql: string): string {
  const result = spawnSync('sqlite3', [path.join(directory, DATABASE_FILE), sql], {
    encoding: 'utf8',
  });
  if (result.status !== 0) throw new Error(`sqlite3: ${result.stderr}`);
  return result.stdout.trim();
}

/** Returns the integrity check of a copy of a store, by the `sqlite3` command if it is installed. */
export async function integrityOfCopy(directory: string): Promise<string> {
  await using copy = tempDirectory('copy');
  copyStore(directory, copy.path);
  if (hasSqliteCli) return sqliteCli(copy.path, 'PRAGMA integrity_check');
  await using store = await openStore(copy.path);
  return integrity(store.db);
}
