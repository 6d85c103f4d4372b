import type { FileSystem } from './host/file-system.ts';
import type { HostedSqlite } from './host/sqlite.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import { DATABASE_FILE } from './connection.ts';
import type { SyncTimes } from './wal-sync.ts';

interface CheckpointsDependencies {
  host: HostedSqlite;
  fs: FileSystem;
  times: SyncTimes;
  failpoint: Failpoint;
  durability: 'full' | 'normal';
  /** The log is written back once it passes this many bytes. */
  bytes: number;
  /** Copies the log's pages into the database file. Throws if SQLite cannot. */
  copy: () => void;
  /** Called when the disk refused to sync, so durability can no longer be promised. */
  onLost: (message: string, cause: unknown) => void;
  onWarning: (message: string, error: unknown) => void;
  /** Called when the database file is synced; a COMMIT that waited for it may run. */
  onSynced: () => void;
}

/**
 * Writes the write-ahead log (WAL) back into the database file once it is large, only between groups. The database
 * file's own sync runs on the thread pool, and until it is done no COMMIT may follow, because the next one would
 * overwrite WAL pages whose copies are not yet on the disk.
 */
export class Checkpoints {
  readonly #deps: CheckpointsDependencies;
  #retryAt = 0;
  #isSyncing = false;
  count = 0;
  /** While one is held, the database file and the log up to its beginning do not change. */
  readonly #holds = new Set<Promise<void>>();

  constructor(deps: CheckpointsDependencies) {
    this.#deps = deps;
  }

  /** Whether the database file is being synced: no COMMIT may run. */
  get isSyncing(): boolean {
    return this.#isSyncing;
  }

  /** Holds checkpoints off until the returned function is called. */
  hold(): () => void {
    const held = Promise.withResolvers<void>();
    this.#holds.add(held.promise);
    return () => {
      this.#holds.delete(held.promise);
      held.resolve();
    };
  }

  /** Resolves when no checkpoint is held off any more. */
  async released(): Promise<void> {
    await Promise.all(this.#holds);
  }

  /** Writes the log back if it has passed `limit` bytes; `isAllSynced` says whether all of it is on disk already. */
  runIfOver(limit: number, isAllSynced: boolean): void {
    const { host, failpoint, durability, copy, onLost, onWarning } = this.#deps;
    const wal = host.file(`${DATABASE_FILE}-wal`);
    const file = host.file(DATABASE_FILE);
    const bytes = wal?.written ?? 0;
    if (this.#isSyncing || this.#holds.size > 0 || bytes < Math.max(limit, this.#retryAt)) return;
    if (!wal || !file) return;
    failpoint('checkpoint.before');
    // The log is on disk already, so SQLite need not sync it on this thread.
    wal.deferSync = durability === 'full' && isAllSynced;
    file.deferSync = true;
    try {
      copy();
      wal.written = 0;
      this.#retryAt = 0;
      this.count++;
    } catch (error) {
      // The log still has everything, so the next attempt comes when it has grown by as much again.
      this.#retryAt = bytes + this.#deps.bytes;
      const lost = host.syncError();
      if (lost) return onLost(`the disk failed to sync: ${lost.message}`, lost);
      onWarning('cannot write the log back into the database', error);
    } finally {
      wal.deferSync = false;
      file.deferSync = false;
      wal.syncPending = false;
    }
    if (!file.syncPending) return;
    file.syncPending = false;
    this.#sync(file.fd);
  }

  #sync(fd: number): void {
    const { fs, times, failpoint, onLost, onSynced } = this.#deps;
    this.#isSyncing = true;
    const end = times.begin();
    fs.fdatasync(fd, (error) => {
      if (error) return onLost(`the disk failed to sync the database: ${error.message}`, error);
      end();
      this.#isSyncing = false;
      failpoint('checkpoint.after');
      onSynced();
    });
  }
}
