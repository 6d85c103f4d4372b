import nodeFs from 'node:fs';
import path from 'node:path';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { Distribution } from '../lib/distribution.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import { Damage } from './damage.ts';
import {
  type FileSystem,
  type HostedSqlite,
  type HostFile,
  loadHostedSqlite,
} from './host-files.ts';
import { migrate } from './migrate.ts';
import { SqliteError, type SqlValue, Statement, sqliteError } from './statement.ts';
import { SyncTimes } from './sync-times.ts';

/** Not `.db` or `.sqlite`: opened for writing from outside while we run, the WAL would be deleted under us. */
export const DATABASE_FILE = 'events.cadre';

const SQLITE_PERM = 3;
const SQLITE_NOMEM = 7;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

/** By which syncs are told apart, in microseconds. */
const SYNC_BOUNDS = [
  100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
];

export interface DatabaseOptions {
  directory: string;
  wasm: Uint8Array;
  /** `full`: an answer is on the disk. `normal`: it is with the operating system, and power loss may take the newest. */
  durability: 'full' | 'normal';
  clock: Clock;
  failpoint: Failpoint;
  /** Told once when durability can no longer be promised. It must end the process: nothing is answered after it. */
  onFatal: (error: Error) => void;
  /** Told of trouble that mends itself. */
  onWarning?: (message: string, error: unknown) => void;
  version: string;
  newEpoch: () => string;
  fs?: FileSystem;
  /** The WAL is written back into the database once it passes this many bytes. */
  checkpointBytes?: number;
}

/** What the transactions of one turn of the event loop have in common: one COMMIT, one sync, one moment of truth. */
interface Group {
  readonly done: PromiseWithResolvers<void>;
  readonly firstSeq: number;
  lastSeq: number;
  /** How often the WAL had been written to when the group began: what wrote nothing needs no sync of its own. */
  readonly writesBefore: number;
  members: number;
  /** What the group announces once it is on disk, in order. */
  readonly outbox: unknown[];
  /** What is done once it is on disk. */
  readonly effects: (() => void)[];
}

/**
 * SQLite on a real file, written in groups.
 *
 * `transact(fn)` runs the synchronous `fn` at once inside the open group and resolves with its result when
 * the group is on disk. A failing `fn` takes back its own rows only. When SQLite itself rolls the group back
 * (disk full, I/O error), every member of it rejects and the sequence is set back.
 */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #host: HostedSqlite;
  readonly #handle: number;
  readonly #fs: FileSystem;
  readonly #statements: Statement[] = [];
  readonly #control: Record<
    'begin' | 'commit' | 'rollback' | 'savepoint' | 'release' | 'back',
    Statement
  >;
  readonly #writeSeq: Statement;
  readonly #checkpointPragma: Statement<[number, number, number]>;
  readonly #checkpointBytes: number;
  readonly #listeners: ((items: unknown[]) => void)[] = [];
  readonly stats = {
    groupSize: new Distribution([1, 2, 5, 10, 20, 50, 100, 200]),
    syncMicroseconds: new Distribution(SYNC_BOUNDS),
    checkpoints: 0,
  };
  readonly syncTimes: SyncTimes;
  readonly damage = new Damage();

  #group: Group | undefined;
  /** Groups that are committed and not yet synced, oldest first. */
  #unsynced: Group[] = [];
  #seq: number;
  #durableSeq: number;
  #running = false;
  #closed = false;
  /** Why SQLite may have rolled the whole transaction back: no statement may run until its group has failed. */
  #poison: SqliteError | undefined;
  /** Nothing can be promised any more. */
  #dead: AppError | undefined;
  #walSyncing = false;
  /** A checkpoint's sync of the database file is in flight: a COMMIT now could restart the WAL too early. */
  #databaseSyncing = false;
  #commitWaits = false;
  #retryCheckpointAt = 0;
  /** While there is one, the database file and the log up to now stay as they are. */
  readonly #holds = new Set<Promise<void>>();

  /** Opens (and makes, and migrates) the database of a directory that the caller has locked. */
  static async open(options: DatabaseOptions): Promise<Database> {
    const { directory, wasm, fs = nodeFs } = options;
    const host = await loadHostedSqlite({ wasm, directory, fs });
    const handle = openHandle(host);
    try {
      configure(host, handle);
      migrate(sqlTools(host, handle), {
        version: options.version,
        newEpoch: options.newEpoch,
        now: options.clock.now(),
        backup: (from) => backUp(directory, from),
      });
      return new Database(options, host, handle);
    } catch (error) {
      host.sqlite._sqlite3_close_v2(handle);
      throw asStorageError(error);
    }
  }

  private constructor(options: DatabaseOptions, host: HostedSqlite, handle: number) {
    this.#options = options;
    this.syncTimes = new SyncTimes(options.clock);
    this.#host = host;
    this.#handle = handle;
    this.#fs = options.fs ?? nodeFs;
    this.#checkpointBytes = options.checkpointBytes ?? 4 * 1024 * 1024;
    this.#control = {
      begin: this.prepare('BEGIN IMMEDIATE'),
      commit: this.prepare('COMMIT'),
      rollback: this.prepare('ROLLBACK'),
      savepoint: this.prepare('SAVEPOINT member'),
      release: this.prepare('RELEASE member'),
      back: this.prepare('ROLLBACK TO member'),
    };
    this.#writeSeq = this.prepare('UPDATE sequence SET last_seq = ? WHERE id = 1');
    this.#checkpointPragma = this.prepare('PRAGMA wal_checkpoint(PASSIVE)');
    this.#seq =
      this.prepare<[number]>('SELECT last_seq FROM sequence WHERE id = 1').get()?.[0] ?? 0;
    // What a dead server left in the log may be with the operating system alone: only synced it may be shown.
    const wal = this.#wal;
    if (wal) this.#fs.fsyncSync(wal.fd);
    this.#durableSeq = this.#seq;
  }

  /** The newest sequence number that is on disk. Nothing newer may be shown to anybody. */
  get durableSeq(): number {
    return this.#durableSeq;
  }

  /** Bytes of the write-ahead log in use. */
  get walBytes(): number {
    return this.#wal?.written ?? 0;
  }

  get #wal(): HostFile | undefined {
    return this.#host.file(`${DATABASE_FILE}-wal`);
  }

  /** Prepares a statement that lives as long as the database. */
  prepare<Row extends readonly SqlValue[] = SqlValue[]>(sql: string): Statement<Row> {
    const statement = new Statement<Row>(this.#host, this.#handle, sql, (error) => {
      const gaveUp = [SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM].includes(error.code & 0xff);
      if (gaveUp && this.#group) this.#poison = error;
      if (isDamage(error)) this.damage.note('SQLite', error.message);
    });
    this.#statements.push(statement as unknown as Statement);
    return statement;
  }

  /**
   * Runs `fn` now, inside the open group; resolves with its result once the group is on disk. Only rows may
   * change inside it. Rejects with what `fn` threw, also only once the rows it may have seen are on disk, or
   * with `storage_full` / `storage_damaged` when the group failed. Throws when called from inside another.
   */
  transact<T>(fn: () => T): Promise<T> {
    if (this.#running) throw new Error('transact inside a transaction');
    const refusal = this.#refusal();
    if (refusal) return Promise.reject(refusal);
    let group: Group;
    try {
      group = this.#group ?? this.#begin();
    } catch (error) {
      return Promise.reject(asStorageError(error));
    }
    const { seq, outboxLength } = { seq: this.#seq, outboxLength: group.outbox.length };
    const effectsLength = group.effects.length;
    this.#running = true;
    let result: { value: T } | { error: unknown };
    try {
      this.#control.savepoint.run();
      const value = fn();
      if (value instanceof Promise) {
        value.catch(() => undefined);
        throw new Error('a transaction gave a promise: it must be synchronous');
      }
      if (this.#poison) throw this.#poison;
      this.#control.release.run();
      group.members++;
      result = { value };
    } catch (error) {
      result = { error };
      this.#seq = seq;
      group.outbox.length = outboxLength;
      group.effects.length = effectsLength;
      if (!this.#takeBackMember()) this.#fail(group, error);
    } finally {
      this.#running = false;
    }
    return group.done.promise.then(() => {
      if ('error' in result) throw asStorageError(result.error);
      return result.value;
    });
  }

  /** Runs `fn`, which only reads; resolves with its result once every row it may have seen is on disk. */
  read<T>(fn: () => T): Promise<T> {
    const refusal = this.#refusal();
    if (refusal) return Promise.reject(refusal);
    const seen = this.#group ?? this.#unsynced.at(-1);
    const settled = seen ? seen.done.promise : Promise.resolve();
    let value: T;
    try {
      value = this.#guarded(fn);
    } catch (error) {
      // SQLite may have taken the open group along, and does not say: it is given up.
      if (this.#group && this.#poison) this.#fail(this.#group, error);
      return settled.then(() => Promise.reject(asStorageError(error)));
    }
    return settled.then(() => value);
  }

  /** Runs `fn`, which reads only what is on disk already. Throws in the words of the interface. */
  peek<T>(fn: () => T): T {
    const refusal = this.#refusal();
    if (refusal) throw refusal;
    try {
      return this.#guarded(fn);
    } catch (error) {
      throw asStorageError(error);
    }
  }

  /** The next number of the one sequence. Only inside a transaction; given back if that fails. */
  nextSeq(): number {
    if (!this.#running || !this.#group) throw new Error('nextSeq outside a transaction');
    return ++this.#seq;
  }

  /** Leaves out `count` numbers. Only inside a transaction. */
  skipSeqs(count: number): void {
    this.nextSeq();
    this.#seq += count - 1;
  }

  /** Leaves something to be announced when the running transaction is on disk; forgotten if it fails. */
  announce(item: unknown): void {
    if (!this.#running || !this.#group) throw new Error('announce outside a transaction');
    this.#group.outbox.push(item);
  }

  /** Does something once the running transaction is on disk; forgotten if it fails. */
  whenDurable(effect: () => void): void {
    if (!this.#running || !this.#group) throw new Error('whenDurable outside a transaction');
    this.#group.effects.push(effect);
  }

  /** Calls `listener` with what was announced, in order, each time a group has reached the disk. */
  onDurable(listener: (items: unknown[]) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Holds off checkpoints until it is disposed: the database file does not change, and neither does the log up to
   * `walBytes`, which together are the store as it is now. Resolves once that is on disk.
   */
  async hold(): Promise<Disposable & { walBytes: number }> {
    const refusal = this.#refusal();
    if (refusal) throw refusal;
    const held = Promise.withResolvers<void>();
    const release = () => {
      this.#holds.delete(held.promise);
      held.resolve();
    };
    this.#holds.add(held.promise);
    const wal = this.#wal;
    // What an earlier server left in the log was not written by us.
    const walBytes = wal?.writes === 0 ? this.#fs.fstatSync(wal.fd).size : this.walBytes;
    try {
      await this.#unsynced.at(-1)?.done.promise;
    } catch (error) {
      release();
      throw error;
    }
    return { walBytes, [Symbol.dispose]: release };
  }

  /** Waits for what is under way, writes the WAL back, closes the file. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all(this.#holds);
    while (!this.#dead && (this.#group ?? this.#unsynced.at(-1))) {
      await (this.#group ?? this.#unsynced.at(-1))?.done.promise.catch(() => undefined);
    }
    while (this.#databaseSyncing && !this.#dead)
      await new Promise((resolve) => setImmediate(resolve));
    for (const statement of this.#statements) statement.finalize();
    // The last connection writes the WAL back, syncs and removes it.
    this.#host.sqlite._sqlite3_close_v2(this.#handle);
  }

  #begin(): Group {
    this.#control.begin.run();
    const group: Group = {
      done: Promise.withResolvers<void>(),
      firstSeq: this.#seq,
      lastSeq: this.#seq,
      writesBefore: this.#wal?.writes ?? 0,
      members: 0,
      outbox: [],
      effects: [],
    };
    // Each member hears of a failure by its own promise.
    group.done.promise.catch(() => undefined);
    this.#group = group;
    setImmediate(() => this.#commit(group));
    return group;
  }

  /** Rolls the failed member back to its savepoint; false when SQLite had already dropped the whole group. */
  #takeBackMember(): boolean {
    if (this.#poison) return false;
    try {
      this.#control.back.run();
      this.#control.release.run();
      return true;
    } catch {
      return false;
    }
  }

  #commit(group: Group): void {
    if (this.#group !== group) return;
    const trouble = this.#dead ?? this.#poison;
    if (trouble) return this.#fail(group, trouble);
    if (this.#databaseSyncing) {
      this.#commitWaits = true;
      return;
    }
    try {
      this.#options.failpoint('commit.before');
      if (this.#seq !== group.firstSeq) this.#writeSeq.run(this.#seq);
      group.lastSeq = this.#seq;
      this.#control.commit.run();
    } catch (error) {
      this.#fail(group, error);
      return;
    }
    this.#group = undefined;
    this.stats.groupSize.record(Math.max(1, group.members));
    this.#options.failpoint('commit.after');
    this.#unsynced.push(group);
    const wroteNothing =
      (this.#wal?.writes ?? 0) === group.writesBefore && this.#unsynced.length === 1;
    if (wroteNothing || this.#options.durability === 'normal')
      this.#settle(this.#unsynced.splice(0));
    // Where one group follows the next without a pause, the log must not grow for ever.
    this.#checkpointIfOver(
      this.#options.durability === 'normal' ? this.#checkpointBytes : 2 * this.#checkpointBytes,
    );
    this.#syncWal();
  }

  /** Ends a group that SQLite gave up: every member rejects, the sequence goes back, the next group starts clean. */
  #fail(group: Group, error: unknown): void {
    this.#group = undefined;
    this.#seq = group.firstSeq;
    try {
      this.#control.rollback.run();
    } catch {
      // SQLite had rolled it back by itself.
    }
    this.#poison = undefined;
    const lost = this.#host.syncError();
    if (lost) this.#lost(`the disk refused to sync: ${lost.message}`, lost);
    group.done.reject(asStorageError(error));
  }

  #refusal(): AppError | undefined {
    if (this.#dead) return this.#dead;
    return this.#closed ? new AppError('shutting_down', 'the store is closed') : undefined;
  }

  /** Syncs the WAL off the main thread, then answers everybody whose group was in it. */
  #syncWal(): void {
    const wal = this.#wal;
    if (this.#walSyncing || this.#dead || this.#unsynced.length === 0 || !wal) return;
    this.#walSyncing = true;
    const groups = this.#unsynced.slice();
    const endSync = this.syncTimes.begin();
    this.#fs.fdatasync(wal.fd, (error) => {
      this.#walSyncing = false;
      if (this.#dead) return;
      if (error) return this.#lost(`the disk refused to sync the log: ${error.message}`, error);
      if (this.#fs.fstatSync(wal.fd).nlink === 0) {
        return this.#lost(
          `${wal.path} was deleted by another program: open ${DATABASE_FILE} read-only`,
        );
      }
      const micros = Math.round(endSync() * 1000);
      this.stats.syncMicroseconds.record(Math.max(1, micros));
      this.#options.failpoint('sync.after');
      this.#unsynced.splice(0, groups.length);
      this.#settle(groups);
      this.#checkpointIfOver(this.#checkpointBytes);
      this.#syncWal();
    });
  }

  #settle(groups: Group[]): void {
    for (const group of groups) {
      this.#durableSeq = group.lastSeq;
      if (group.outbox.length > 0) this.#tellListeners(group.outbox);
      group.done.resolve();
      for (const effect of group.effects) effect();
    }
  }

  /** A listener that fails is a bug of its own: the group is on disk, and its members are answered. */
  #tellListeners(items: unknown[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(items);
      } catch (error) {
        this.#options.onWarning?.('a listener of the store failed', error);
      }
    }
  }

  /**
   * Writes the WAL back once it is large. Only between groups; the database file's own sync goes to the
   * thread pool, and until it is done no COMMIT may follow: the next one would overwrite WAL pages whose
   * copies are not yet on the disk.
   */
  #checkpointIfOver(limit: number): void {
    const bytes = this.walBytes;
    if (this.#group || this.#databaseSyncing || this.#running || this.#holds.size > 0) return;
    if (bytes < Math.max(limit, this.#retryCheckpointAt)) return;
    const wal = this.#wal;
    const file = this.#host.file(DATABASE_FILE);
    if (!wal || !file) return;
    this.#options.failpoint('checkpoint.before');
    // With nothing unsynced the WAL is on disk already, and SQLite need not sync it again on this thread.
    wal.deferSync = this.#options.durability === 'full' && this.#unsynced.length === 0;
    file.deferSync = true;
    try {
      this.#guarded(() => this.#checkpointPragma.get());
      wal.written = 0;
      this.#retryCheckpointAt = 0;
      this.stats.checkpoints++;
    } catch (error) {
      // The WAL still has everything. Try again when it has grown by as much again.
      this.#retryCheckpointAt = bytes + this.#checkpointBytes;
      const lost = this.#host.syncError();
      if (lost) return this.#lost(`the disk refused to sync: ${lost.message}`, lost);
      this.#options.onWarning?.('could not write the log back into the database', error);
    } finally {
      wal.deferSync = false;
      file.deferSync = false;
      wal.syncPending = false;
    }
    if (!file.syncPending) return;
    file.syncPending = false;
    this.#databaseSyncing = true;
    const endSync = this.syncTimes.begin();
    this.#fs.fdatasync(file.fd, (error) => {
      if (error)
        return this.#lost(`the disk refused to sync the database: ${error.message}`, error);
      endSync();
      this.#databaseSyncing = false;
      this.#options.failpoint('checkpoint.after');
      if (!this.#commitWaits) return;
      this.#commitWaits = false;
      if (this.#group) this.#commit(this.#group);
    });
  }

  /** After a failed sync nobody knows what is on the disk: nothing may be answered any more. */
  #lost(message: string, cause?: unknown): void {
    if (this.#dead) return;
    this.#dead = new AppError('storage_damaged', message, cause ? { cause } : {});
    for (const group of this.#unsynced.splice(0)) group.done.reject(this.#dead);
    this.#options.onFatal(this.#dead);
  }

  /** Runs `fn` so that a transaction begun inside it is refused. */
  #guarded<T>(fn: () => T): T {
    if (this.#running) return fn();
    this.#running = true;
    try {
      return fn();
    } finally {
      this.#running = false;
    }
  }
}

export function openHandle(host: HostedSqlite, file = DATABASE_FILE): number {
  const { sqlite } = host;
  const name = sqlite.stringToNewUTF8(host.virtualPath(file));
  const out = sqlite._malloc(4);
  const code = sqlite._sqlite3_open(name, out);
  const handle = host.readInt32(out);
  sqlite._free(name);
  sqlite._free(out);
  if (code !== 0) throw sqliteError(host, handle, code);
  return handle;
}

function configure(host: HostedSqlite, handle: number): void {
  const { exec, one } = sqlTools(host, handle);
  // Before the first access to the WAL: it then needs no shared memory.
  exec('PRAGMA locking_mode = EXCLUSIVE');
  // Has to precede the first table. Later it would only be written again, even into a file that is refused.
  if (one('PRAGMA page_count')?.[0] === 0) exec('PRAGMA auto_vacuum = INCREMENTAL');
  const [mode] = one('PRAGMA journal_mode = WAL') ?? [];
  if (mode !== 'wal') throw new Error(`SQLite chose journal mode ${mode}, not wal`);
  // NORMAL and our own sync of the WAL are together what FULL does, off the main thread.
  exec('PRAGMA synchronous = NORMAL');
  exec('PRAGMA wal_autocheckpoint = 0');
  exec('PRAGMA cache_size = -32000');
  // A spill would write to the WAL before its time.
  exec('PRAGMA cache_spill = OFF');
  exec('PRAGMA temp_store = MEMORY');
  exec('PRAGMA foreign_keys = OFF');
}

/** Plain statements, for opening, migrating and copying. */
export interface SqlTools {
  exec: (sql: string) => void;
  one: (sql: string, ...values: SqlValue[]) => SqlValue[] | undefined;
}

export function sqlTools(host: HostedSqlite, handle: number): SqlTools {
  return {
    exec(sql) {
      const text = host.sqlite.stringToNewUTF8(sql);
      const code = host.sqlite._sqlite3_exec(handle, text, 0, 0, 0);
      host.sqlite._free(text);
      if (code !== 0) throw sqliteError(host, handle, code, sql.slice(0, 80));
    },
    one(sql, ...values) {
      const statement = new Statement(host, handle, sql, () => undefined);
      try {
        return statement.get(...values);
      } finally {
        statement.finalize();
      }
    },
  };
}

/** Copies the database before it is migrated; it is closed to everyone else and its WAL has been written back. */
function backUp(directory: string, fromVersion: number): void {
  const file = path.join(directory, DATABASE_FILE);
  const copy = `${file}.before-v${fromVersion + 1}`;
  nodeFs.copyFileSync(file, copy);
  nodeFs.chmodSync(copy, 0o600);
}

/** SQLite's own failures in the words of the interface; anything else as it is. */
export function asStorageError(error: unknown): unknown {
  if (!(error instanceof SqliteError)) return error;
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  const full = cause?.code === 'ENOSPC' || cause?.code === 'EDQUOT';
  if (error.code === SQLITE_FULL || full) {
    return new AppError(
      'storage_full',
      'the disk is full: nothing was changed; free some space and try again',
      {
        cause: error,
      },
    );
  }
  if ([SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM].includes(error.code & 0xff)) {
    return new AppError(
      'storage_damaged',
      `the store may not be written (${error.message}): make it writable for the user of the server, or take another data directory`,
      { cause: error },
    );
  }
  if (isDamage(error) || (error.code & 0xff) === SQLITE_IOERR) {
    return new AppError(
      'storage_damaged',
      `the store cannot be read or written (${error.message}): nothing was changed; ` +
        'check the disk, then restart, or restore a copy of the data directory',
      { cause: error },
    );
  }
  return error;
}

/** Whether what is stored is wrong, and not only out of reach just now. */
function isDamage({ code, message }: SqliteError): boolean {
  // SQLite looks into stored JSON for the columns it derives.
  return (
    [SQLITE_CORRUPT, SQLITE_NOTADB].includes(code & 0xff) || message.startsWith('malformed JSON')
  );
}
