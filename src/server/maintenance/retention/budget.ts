import fs from 'node:fs';
import { AppError } from '../../../api/errors.ts';
import type { Config } from '../../../core/config/schema.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { bytesIn } from '../../../core/lib/directory-size.ts';
import type { Statement } from '../../../core/store/statement.ts';

/** The time for which the number of free bytes of the disk is cached, in ms. */
const DISK_CACHE_MS = 100;

export type RetentionSettings = Config['retention'];

interface StorageBudgetDeps extends Pick<ServerParts, 'db' | 'clock'> {
  directory: string;
  /** The directory of the logs of processes. */
  logs: string;
  settings: () => RetentionSettings;
}

/** Decides whether there is room for new work, in the budget and on the disk. Work under way is never refused. */
export class StorageBudget {
  readonly #deps: StorageBudgetDeps;
  readonly #pages: Statement<[number]>;
  readonly #freePages: Statement<[number]>;
  readonly #pageSize: number;
  #disk = { free: Number.MAX_SAFE_INTEGER, readAt: Number.NEGATIVE_INFINITY };
  /** Set by retention if the data exceeds the budget and nothing more can be deleted. */
  isSpent = false;
  /** The size of the logs of processes when they were last measured, in bytes. */
  logBytes = 0;

  constructor(deps: StorageBudgetDeps) {
    this.#deps = deps;
    this.#pages = deps.db.prepare('PRAGMA page_count');
    this.#freePages = deps.db.prepare('PRAGMA freelist_count');
    const pageSize = deps.db.prepare<[number]>('PRAGMA page_size');
    this.#pageSize = deps.db.peek((rx) => pageSize.get(rx)?.[0]) ?? 4096;
  }

  /** Throws `storage_full` if there is no room for new work. */
  assertRoom(): void {
    const shortage = this.shortage();
    if (shortage !== null) throw new AppError('storage_full', shortage);
  }

  /** Returns why there is no room for new work and what to do about it; null if there is room. */
  shortage(): string | null {
    const { max_bytes, min_free_bytes } = this.#deps.settings();
    if (this.isSpent && max_bytes > 0 && this.usedBytes > max_bytes)
      return `the data exceeds retention.max_bytes (${max_bytes}), and nothing can be deleted: close sessions, or raise the limit`;
    if (this.diskFreeBytes < min_free_bytes)
      return `less than retention.min_free_bytes (${min_free_bytes}) is free on the disk of ${this.#deps.directory}: free some space`;
    return null;
  }

  /** The size of the database without its free pages, plus the size of the logs of processes. */
  get usedBytes(): number {
    return this.databaseBytes - this.databaseFreeBytes + this.logBytes;
  }

  get databaseBytes(): number {
    return this.#count(this.#pages) * this.#pageSize;
  }

  get databaseFreeBytes(): number {
    return this.freePages * this.#pageSize;
  }

  async measureLogs(): Promise<void> {
    this.logBytes = await bytesIn(this.#deps.logs);
  }

  get freePages(): number {
    return this.#count(this.#freePages);
  }

  /** The number of free bytes on the disk of the data, cached for `DISK_CACHE_MS`. */
  get diskFreeBytes(): number {
    const now = this.#deps.clock.monotonic();
    if (now - this.#disk.readAt >= DISK_CACHE_MS) {
      this.#disk = { free: this.#readFreeBytes(), readAt: now };
    }
    return this.#disk.free;
  }

  /** Without its directory a server could store nothing, and no write would tell it so: each is refused before. */
  #readFreeBytes(): number {
    const { db, directory } = this.#deps;
    try {
      const { bavail, bsize } = fs.statfsSync(directory);
      return bavail * bsize;
    } catch (error) {
      throw db.lossOf(error) ?? error;
    }
  }

  #count(statement: Statement<[number]>): number {
    return this.#deps.db.peek((rx) => statement.get(rx)?.[0] ?? 0);
  }
}
