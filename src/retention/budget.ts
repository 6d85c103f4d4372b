import fs from 'node:fs';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { bytesIn } from '../lib/directory-size.ts';
import type { Database } from '../store/database.ts';
import type { Statement } from '../store/statement.ts';

/** For how long the free bytes of the disk are taken to be what they were. */
const DISK_KNOWN_MS = 100;

export interface RetentionSettings {
  /** What events, records and logs may take; 0: no limit. */
  max_bytes: number;
  max_age_days: number | null;
  /** So much of the disk has to stay free. */
  min_free_bytes: number;
}

interface StorageBudgetDependencies {
  db: Database;
  directory: string;
  /** Where what processes print is. */
  logs: string;
  clock: Clock;
  settings: () => RetentionSettings;
}

/** Whether there is room for new work: in the budget, and on the disk. What is under way goes on in any case. */
export class StorageBudget {
  readonly #given: StorageBudgetDependencies;
  readonly #pages: Statement<[number]>;
  readonly #freePages: Statement<[number]>;
  readonly #pageSize: number;
  #disk = { free: Number.MAX_SAFE_INTEGER, readAt: Number.NEGATIVE_INFINITY };
  /** Set by retention when nothing more can go, and it is not enough. */
  isSpent = false;
  /** What the logs took when they were last measured. */
  logBytes = 0;

  constructor(given: StorageBudgetDependencies) {
    this.#given = given;
    this.#pages = given.db.prepare('PRAGMA page_count');
    this.#freePages = given.db.prepare('PRAGMA freelist_count');
    const pageSize = given.db.prepare<[number]>('PRAGMA page_size');
    this.#pageSize = given.db.peek((rx) => pageSize.get(rx)?.[0]) ?? 4096;
  }

  /** Throws `storage_full` where new work would have no room. */
  assertRoom(): void {
    const shortage = this.shortage();
    if (shortage !== null) throw new AppError('storage_full', shortage);
  }

  /** Why there is no room for new work, and what to do about it; null where there is room. */
  shortage(): string | null {
    const { max_bytes, min_free_bytes } = this.#given.settings();
    if (this.isSpent && max_bytes > 0 && this.usedBytes > max_bytes)
      return `the data is larger than retention.max_bytes (${max_bytes}), and retention may delete none of the rest: close sessions, or raise the limit`;
    if (this.diskFreeBytes < min_free_bytes)
      return `less than retention.min_free_bytes (${min_free_bytes}) is free on the disk of ${this.#given.directory}: free some space`;
    return null;
  }

  /** What the database takes, without what is free in it, and the logs of processes. */
  get usedBytes(): number {
    return this.databaseBytes - this.databaseFreeBytes + this.logBytes;
  }

  /** What the database takes, with what is free in it. */
  get databaseBytes(): number {
    return this.#count(this.#pages) * this.#pageSize;
  }

  get databaseFreeBytes(): number {
    return this.freePages * this.#pageSize;
  }

  /** Looks what the logs of processes take. */
  async measureLogs(): Promise<void> {
    this.logBytes = await bytesIn(this.#given.logs);
  }

  get freePages(): number {
    return this.#count(this.#freePages);
  }

  /** Free bytes on the disk of the data, as of a moment ago. */
  get diskFreeBytes(): number {
    const now = this.#given.clock.monotonic();
    if (now - this.#disk.readAt >= DISK_KNOWN_MS) {
      const { bavail, bsize } = fs.statfsSync(this.#given.directory);
      this.#disk = { free: bavail * bsize, readAt: now };
    }
    return this.#disk.free;
  }

  #count(statement: Statement<[number]>): number {
    return this.#given.db.peek((rx) => statement.get(rx)?.[0] ?? 0);
  }
}
