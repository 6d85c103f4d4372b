import type { Distribution } from '../lib/distribution.ts';
import { DATABASE_FILE } from './connection.ts';
import type { FileSystem } from './host/file-system.ts';
import type { HostedSqlite } from './host/sqlite.ts';
import type { SyncTimes } from './sync-times.ts';

interface WalSyncDependencies {
  host: HostedSqlite;
  fs: FileSystem;
  times: SyncTimes;
  /** The histogram of sync times, in microseconds. */
  took: Distribution;
  /** Called when the disk refused to sync or the log was deleted, so durability can no longer be promised. */
  onLost: (message: string, cause?: unknown) => void;
}

/** Syncs the write-ahead log on the thread pool, one sync at a time. */
export class WalSync {
  readonly #deps: WalSyncDependencies;
  #isRunning = false;

  constructor(deps: WalSyncDependencies) {
    this.#deps = deps;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Calls `done` once the current content of the log is on the disk. */
  run(done: () => void): void {
    const { host, fs, times, took, onLost } = this.#deps;
    const wal = host.file(`${DATABASE_FILE}-wal`);
    if (!wal) return;
    this.#isRunning = true;
    const end = times.begin();
    fs.fdatasync(wal.fd, (error) => {
      this.#isRunning = false;
      if (error) return onLost(`the disk failed to sync the log: ${error.message}`, error);
      if (this.endIfDeleted()) return;
      took.record(Math.max(1, Math.round(end() * 1000)));
      done();
    });
  }

  /** Reports whether the log was deleted: what is written to it would be lost. Calls `onLost` if so. */
  endIfDeleted(): boolean {
    const { host, fs, onLost } = this.#deps;
    const wal = host.file(`${DATABASE_FILE}-wal`);
    if (!wal || fs.fstatSync(wal.fd).nlink > 0) return false;
    onLost(
      `${wal.path} was deleted by another program: other programs have to open ${DATABASE_FILE} read-only`,
    );
    return true;
  }
}
