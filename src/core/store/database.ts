import nodeFs from 'node:fs';
import { AppError } from '../../api/errors.ts';
import { Distribution } from '../lib/distribution.ts';
import { yieldToEventLoop } from '../lib/slices.ts';
import { Checkpoints } from './checkpoints.ts';
import { type Connection, DATABASE_FILE } from './connection.ts';
import { type Control, prepareControl, Statement, Statements } from './statement.ts';
import { CorruptionLog } from './corruption-log.ts';
import type { FileSystem, HostFile } from './host/file-system.ts';
import {
  followedBy,
  Group,
  runAll,
  ReentryGuard,
  type Member,
  Reader,
  type Sequence,
  Writer,
} from './transaction.ts';
import { lossText } from './lost-store.ts';
import { type DatabaseOptions, type Opened, openMigrated } from './open.ts';
import { SqliteError, type SqlValue } from './raw-statement.ts';
import { asStorageError, isCorruption, isFull, mayHaveRolledBack } from './storage-error.ts';
import { SYNC_BOUNDS, SyncTimes, WalSync } from './wal-sync.ts';

/**
 * SQLite on a real file, with group commit.
 *
 * `transact(fn)` runs the synchronous `fn` at once inside the open group and resolves with its result when the group is
 * on disk. If `fn` throws, only its own rows are rolled back. If SQLite itself rolls the group back (disk full, I/O
 * error), every member of it rejects and the sequence is set back.
 */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #connection: Connection;
  readonly #fs: FileSystem;
  readonly #statements: Statements;
  readonly #control: Control;
  readonly #checkpoints: Checkpoints;
  readonly #walSync: WalSync;
  readonly #checkpointBytes: number;
  readonly #listeners: ((items: unknown[]) => void)[] = [];
  readonly stats = {
    groupSize: new Distribution([1, 2, 5, 10, 20, 50, 100, 200]),
    syncMicroseconds: new Distribution(SYNC_BOUNDS),
  };
  readonly syncTimes: SyncTimes;
  readonly damage = new CorruptionLog();
  /** Whether the newest write failed because the disk was full. */
  lacksRoom = false;

  #group: Group | undefined;
  /** Groups that are committed and not yet synced, oldest first. */
  #unsynced: Group[] = [];
  readonly sequence: Sequence;
  #durableSeq: number;
  /** The random id of this data directory's log. */
  readonly epoch: string;
  /** The older data that this start has changed; null where there were none. */
  readonly migration: Opened['migration'];
  /** The events that this start has missed; null where there are none. */
  readonly lost: Opened['lost'];
  readonly #anchor: Opened['anchor'];
  readonly #guard = new ReentryGuard();
  #closed = false;
  /** The error that may have rolled back the whole group: no statement may run until that group has failed. */
  #poison: SqliteError | undefined;
  /** Set once durability can no longer be promised. */
  #dead: AppError | undefined;
  #commitWaits = false;

  /** Opens (and makes, and migrates) the database of a directory that the caller has locked. */
  static async open(options: DatabaseOptions): Promise<Database> {
    return new Database(options, await openMigrated(options));
  }

  private constructor(options: DatabaseOptions, { connection, migration, anchor, lost }: Opened) {
    this.migration = migration;
    this.lost = lost;
    this.#anchor = anchor;
    this.#options = options;
    const { host, handle } = connection;
    this.#connection = connection;
    this.#statements = new Statements(host, handle, (error) => {
      if (mayHaveRolledBack(error) && this.#group) this.#poison = error;
      if (isCorruption(error)) this.damage.note('SQLite', error.message);
    });
    this.#fs = options.fs ?? nodeFs;
    this.#checkpointBytes = options.checkpointBytes ?? 4 * 1024 * 1024;
    this.#control = prepareControl((sql) => this.#statements.raw(sql));
    const pragma = this.#statements.raw('PRAGMA wal_checkpoint(PASSIVE)');
    const { clock, failpoint, durability } = options;
    const onLost = (message: string, cause?: unknown) => this.#lost(message, cause);
    this.syncTimes = new SyncTimes(clock);
    this.#walSync = new WalSync({
      host,
      fs: this.#fs,
      times: this.syncTimes,
      took: this.stats.syncMicroseconds,
      onLost,
    });
    this.#checkpoints = new Checkpoints({
      host,
      fs: this.#fs,
      times: this.syncTimes,
      failpoint,
      durability,
      bytes: this.#checkpointBytes,
      copy: () => this.#guard.run(() => pragma.get()),
      onLost,
      onWarning: (message, error) => options.onWarning?.(message, error),
      onSynced: () => {
        if (!this.#commitWaits) return;
        this.#commitWaits = false;
        if (this.#group) this.#commit(this.#group);
      },
    });
    const last = this.#statements.raw<[number]>('SELECT last_seq FROM sequence WHERE id = 1');
    this.sequence = { last: last.get()?.[0] ?? 0 };
    const epoch = this.#statements.raw<[string]>("SELECT value FROM meta WHERE key = 'epoch'");
    this.epoch = epoch.get()?.[0] ?? '';
    // A dead server's last writes to the log may be in the page cache alone: they are synced before anyone sees them.
    if (this.#wal) this.#fs.fsyncSync(this.#wal.fd);
    this.#durableSeq = this.sequence.last;
    if (this.lost) this.damage.note('log', lossText(this.lost));
  }

  /** The newest sequence number that is on disk. Nothing newer may be shown to anybody. */
  get durableSeq(): number {
    return this.#durableSeq;
  }

  /** Bytes of the write-ahead log in use. */
  get walBytes(): number {
    return this.#wal?.written ?? 0;
  }

  /** Ends the server if its log was deleted. Returns the error of what cannot be done any more; null if it is there. */
  lossOf(cause: unknown): AppError | null {
    if (this.#closed || !this.#walSync.endIfDeleted()) return null;
    return new AppError(
      'storage_damaged',
      'the data directory of the server was deleted while the server was running',
      { cause },
    );
  }

  get #wal(): HostFile | undefined {
    return this.#connection.host.file(`${DATABASE_FILE}-wal`);
  }

  /** How many times the log was written back into the database file. */
  get checkpoints(): number {
    return this.#checkpoints.count;
  }

  /** A statement that is prepared once and lives until it is disposed; it runs in `transact`, `read` and `peek` alone. */
  prepare<Row extends readonly SqlValue[] = SqlValue[]>(sql: string): Statement<Row> {
    return new Statement<Row>(this.#statements, sql);
  }

  /**
   * Runs `fn` now, inside the open group; resolves with its result once the group is on disk. Inside it only rows may
   * change: effects follow by `tx.whenDurable`, and changed memory is undone by `tx.whenLost`. `andThen` runs in it with
   * the result. Rejects with the error of `fn`, once the rows that it may have seen are on disk, or with `storage_full` or
   * `storage_damaged` if the group failed. Throws when it is called inside another transaction.
   */
  transact<T>(fn: (tx: Writer) => T, andThen?: (tx: Writer, result: T) => void): Promise<T> {
    if (this.#guard.isRunning) throw new Error('cannot start a transaction inside a transaction');
    const refusal = this.#refusal();
    if (refusal) return Promise.reject(refusal);
    let group: Group;
    try {
      group = this.#group ?? this.#begin();
    } catch (error) {
      return Promise.reject(asStorageError(error));
    }
    const result = this.#runMember(group, andThen ? followedBy(fn, andThen) : fn);
    return group.done.then(() => {
      if ('error' in result) throw asStorageError(result.error);
      return result.value;
    });
  }

  /** Runs `fn`, which only reads; resolves once each row that it has seen is on disk. If that fails, `fn` runs again. */
  read<T>(fn: (rx: Reader) => T): Promise<T> {
    const refusal = this.#refusal();
    if (refusal) return Promise.reject(refusal);
    const settled = (this.#group ?? this.#unsynced.at(-1))?.done ?? Promise.resolve();
    const repeat = () => this.read(fn);
    try {
      const value = this.#reading(fn);
      return settled.then(() => value, repeat);
    } catch (error) {
      // SQLite may have rolled the open group back without reporting it, so the group fails.
      if (this.#group && this.#poison) this.#fail(this.#group, error);
      const refuse = () => Promise.reject(asStorageError(error));
      // Another error may be about rows of a group that fails.
      return settled.then(refuse, error instanceof SqliteError ? refuse : repeat);
    }
  }

  /**
   * Runs `fn`, which only reads, and returns its result at once, perhaps from rows that are not on disk yet: for fields
   * that never change, rows known to be on disk, and results that no client sees. Throws `storage_damaged` if SQLite
   * cannot read.
   */
  peek<T>(fn: (rx: Reader) => T): T {
    const refusal = this.#refusal();
    if (refusal) throw refusal;
    try {
      return this.#reading(fn);
    } catch (error) {
      throw asStorageError(error);
    }
  }

  /** Calls `listener` with the announced items, in order, each time a group has reached the disk. */
  onDurable(listener: (items: unknown[]) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Holds off checkpoints until it is disposed: neither the database file nor the log up to `walBytes` changes, and
   * together they are the store as it is now. Resolves once they are on disk.
   */
  async hold(): Promise<Disposable & { walBytes: number }> {
    const refusal = this.#refusal();
    if (refusal) throw refusal;
    const release = this.#checkpoints.hold();
    const wal = this.#wal;
    // An earlier server wrote this log, so the write counter of this run does not know its size.
    const walBytes = wal?.writes === 0 ? this.#fs.fstatSync(wal.fd).size : this.walBytes;
    try {
      await this.#unsynced.at(-1)?.done;
    } catch (error) {
      release();
      throw error;
    }
    return { walBytes, [Symbol.dispose]: release };
  }

  /** Waits for groups and backups under way, writes the WAL back, closes the file. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#checkpoints.released();
    while (!this.#dead && (this.#group ?? this.#unsynced.at(-1))) {
      await (this.#group ?? this.#unsynced.at(-1))?.done.catch(() => undefined);
    }
    while (this.#checkpoints.isSyncing && !this.#dead) await yieldToEventLoop();
    this.#statements.finalize();
    // The last connection writes the WAL back, syncs and removes it.
    this.#connection[Symbol.dispose]();
    this.#anchor?.close();
  }

  #begin(): Group {
    this.#control.begin.run();
    const group = new Group(this.sequence.last, this.#wal?.writes ?? 0);
    this.#group = group;
    setImmediate(() => this.#commit(group));
    return group;
  }

  #runMember<T>(group: Group, fn: (tx: Writer) => T): { value: T } | { error: unknown } {
    const before = this.sequence.last;
    // A savepoint protects earlier transactions of the group, and the first one has none before it.
    const isFirst = group.members.length === 0;
    const member: Member = { announced: [], whenDurable: [], whenLost: [] };
    const tx = new Writer(this.sequence, member);
    this.#guard.isRunning = true;
    try {
      if (!isFirst) this.#control.savepoint.run();
      const value = fn(tx);
      if (value instanceof Promise) {
        value.catch(() => undefined);
        throw new Error('a transaction returned a promise: every transaction must be synchronous');
      }
      if (this.#poison) throw this.#poison;
      if (!isFirst) this.#control.release.run();
      group.members.push(member);
      return { value };
    } catch (error) {
      this.sequence.last = before;
      const isTakenBack = !this.#poison && this.#control.takeBack(isFirst);
      this.#undo(member);
      if (!isTakenBack) this.#fail(group, error);
      return { error };
    } finally {
      tx.end();
      this.#guard.isRunning = false;
    }
  }

  #commit(group: Group): void {
    if (this.#group !== group) return;
    const trouble = this.#dead ?? this.#poison;
    if (trouble) return this.#fail(group, trouble);
    if (this.#checkpoints.isSyncing) {
      this.#commitWaits = true;
      return;
    }
    try {
      this.#options.failpoint('commit.before');
      if (this.sequence.last !== group.firstSeq) this.#control.writeSeq.run(this.sequence.last);
      group.lastSeq = this.sequence.last;
      this.#control.commit.run();
    } catch (error) {
      this.#fail(group, error);
      return;
    }
    this.#group = undefined;
    this.stats.groupSize.record(Math.max(1, group.members.length));
    this.#options.failpoint('commit.after');
    this.#unsynced.push(group);
    const hasWritten = (this.#wal?.writes ?? 0) !== group.writesBefore;
    if (hasWritten) this.lacksRoom = false;
    const wroteNothing = !hasWritten && this.#unsynced.length === 1;
    const isUnsynced = this.#options.durability === 'normal';
    if (wroteNothing || isUnsynced) this.#settle(this.#unsynced.splice(0));
    // Groups may follow one another without a pause: the log must not grow for ever.
    this.#checkpointIfOver(isUnsynced ? this.#checkpointBytes : 2 * this.#checkpointBytes);
    this.#syncWal();
  }

  /** Ends a failed group: every member rejects, the sequence is set back, and the next group starts clean. */
  #fail(group: Group, error: unknown): void {
    this.#group = undefined;
    this.lacksRoom ||= isFull(error);
    this.sequence.last = group.firstSeq;
    try {
      this.#control.rollback.run();
    } catch {
      // SQLite has already rolled it back.
    }
    this.#poison = undefined;
    for (const member of group.members.toReversed()) this.#undo(member);
    const lost = this.#connection.host.syncError();
    if (lost) this.#lost(`the disk failed to sync: ${lost.message}`, lost);
    group.fail(asStorageError(error));
  }

  #refusal(): AppError | undefined {
    if (this.#dead || !this.#closed) return this.#dead;
    return new AppError('shutting_down', 'the server is stopping and has closed its database');
  }

  /** Syncs the WAL off the main thread, then settles the groups that were in it. */
  #syncWal(): void {
    if (this.#walSync.isRunning || this.#dead || this.#unsynced.length === 0) return;
    const groups = this.#unsynced.slice();
    this.#walSync.run(() => {
      if (this.#dead) return;
      this.#options.failpoint('sync.after');
      this.#unsynced.splice(0, groups.length);
      this.#settle(groups);
      this.#checkpointIfOver(this.#checkpointBytes);
      this.#syncWal();
    });
  }

  #settle(groups: Group[]): void {
    const newest = groups.at(-1)?.lastSeq ?? 0;
    if (newest > this.#durableSeq) this.#anchor?.note({ epoch: this.epoch, seq: newest });
    for (const group of groups) {
      this.#durableSeq = group.lastSeq;
      group.settle(this.#listeners, this.#options.onWarning);
    }
  }

  /** Undoes the changes of a lost transaction to memory, latest first. */
  #undo({ whenLost }: Member): void {
    runAll(whenLost.toReversed(), (error) =>
      this.#options.onWarning?.('cannot undo a lost transaction in memory', error),
    );
  }

  #checkpointIfOver(limit: number): void {
    if (this.#group || this.#guard.isRunning) return;
    this.#checkpoints.runIfOver(limit, this.#unsynced.length === 0);
  }

  /** After a failed sync the content of the disk is unknown, so no request may receive a response any more. */
  #lost(message: string, cause?: unknown): void {
    if (this.#dead) return;
    this.#dead = new AppError('storage_damaged', message, cause ? { cause } : {});
    for (const group of this.#unsynced.splice(0)) group.fail(this.#dead);
    this.#options.onFatal(this.#dead);
  }

  #reading<T>(fn: (rx: Reader) => T): T {
    const rx = new Reader();
    try {
      return this.#guard.run(() => fn(rx));
    } finally {
      rx.end();
    }
  }
}
