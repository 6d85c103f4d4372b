import type { Distribution } from '../lib/distribution.ts';
import { DATABASE_FILE } from './connection.ts';
import type { FileSystem } from './host/file-system.ts';
import type { HostedSqlite } from './host/sqlite.ts';
import type { Clock } from '../lib/clock.ts';

/** The buckets of the sync histogram, in microseconds. */
export const SYNC_BOUNDS = [
  100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
];

/** The number of syncs that are remembered, the newest ones. */
const KEPT = 32;
/** The age, in milliseconds, from which a sync says nothing about the current state of the disk. */
const RECENT_MS = 60_000;

/** The durations of the newest syncs, so that health reports a disk that is slow now, not one that was slow once. */
export class SyncTimes {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #ended: { at: number; ms: number }[] = [];
  /** The start times of the syncs in flight. */
  readonly #inFlight = new Set<{ begunAt: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Starts timing a sync; the returned function ends it, and returns its duration in milliseconds. */
  begin(): () => number {
    const sync = { begunAt: this.#clock.monotonic() };
    this.#inFlight.add(sync);
    return () => {
      this.#inFlight.delete(sync);
      const at = this.#clock.monotonic();
      const ms = at - sync.begunAt;
      this.#ended.push({ at, ms });
      if (this.#ended.length > KEPT) this.#ended.shift();
      return ms;
    };
  }

  /** The median of the newest syncs that ended within the last minute, in milliseconds; 0 if there were none. */
  get medianMs(): number {
    const since = this.#clock.monotonic() - RECENT_MS;
    const recent = this.#ended.filter(({ at }) => at >= since).map(({ ms }) => ms);
    return recent.toSorted((a, b) => a - b)[Math.floor(recent.length / 2)] ?? 0;
  }

  /** How long the oldest sync has been in flight, in milliseconds; 0 if there is none. */
  get inFlightMs(): number {
    const now = this.#clock.monotonic();
    return Math.max(0, ...[...this.#inFlight].map(({ begunAt }) => now - begunAt));
  }
}

interface WalSyncDependencies {
  host: HostedSqlite;
  fs: FileSystem;
  times: SyncTimes;
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
    try {
      // The write of the last page has emptied it, unless SQLite writes a commit in another way than expected.
      wal.buffer?.flush();
    } catch (error) {
      return onLost('cannot write the log', error);
    }
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
