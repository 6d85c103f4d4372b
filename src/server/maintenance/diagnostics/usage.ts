import path from 'node:path';
import type { StorageDiagnostics, StorageFigures } from '../../../api/runtime.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { bytesIn } from '../../../core/lib/directory-size.ts';
import { TableSizes } from '../../../core/store/measure.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { RetentionSettings, StorageBudget } from '../retention/budget.ts';

/** How long counts are reused before the tables are counted again, in milliseconds. */
const COUNTED_FOR_MS = 60_000;

type Counted = Pick<
  StorageDiagnostics,
  'counted_at' | 'tables' | 'blobs_bytes' | 'logs_bytes' | 'oldest_seq'
>;

interface StorageUsageDeps extends Pick<ServerParts, 'db' | 'clock'> {
  directory: string;
  budget: StorageBudget;
  settings: () => RetentionSettings;
}

/** Measures how many rows are stored, and how much disk space they take. */
export class StorageUsage {
  readonly #deps: StorageUsageDeps;
  /** Created on first use, so that a start need not examine every table. */
  #tables: TableSizes | undefined;
  readonly #oldest: Statement<[number | null]>;
  #counted: { at: number; what: Promise<Counted> } | undefined;

  constructor(deps: StorageUsageDeps) {
    this.#deps = deps;
    this.#oldest = deps.db.prepare(
      `SELECT min(seq) FROM (SELECT (SELECT min(seq) FROM events) AS seq
       UNION ALL SELECT (SELECT min(seq) FROM deltas))`,
    );
  }

  /** Returns the figures that need no counting. */
  figures(): StorageFigures {
    const { max_bytes, min_free_bytes } = this.#deps.settings();
    const { usedBytes, databaseBytes, databaseFreeBytes, diskFreeBytes } = this.#deps.budget;
    return {
      latest_seq: this.#deps.db.durableSeq,
      database_bytes: databaseBytes,
      free_bytes_in_database: databaseFreeBytes,
      wal_bytes: this.#deps.db.walBytes,
      budget: { max_bytes, used_bytes: usedBytes },
      disk_free_bytes: diskFreeBytes,
      min_free_bytes,
    };
  }

  /** Returns all figures; those that need counting may be a minute old. */
  async diagnostics(): Promise<StorageDiagnostics> {
    const now = this.#deps.clock.monotonic();
    if (!this.#counted || now - this.#counted.at >= COUNTED_FOR_MS) {
      this.#counted = { at: now, what: this.#count() };
      this.#counted.what.catch(() => (this.#counted = undefined));
    }
    const counted = await this.#counted.what;
    return { ...this.figures(), ...counted };
  }

  async #count(): Promise<Counted> {
    this.#tables ??= new TableSizes(this.#deps.db);
    return {
      tables: await this.#tables.measure(),
      blobs_bytes: await bytesIn(path.join(this.#deps.directory, 'blobs')),
      logs_bytes: await bytesIn(path.join(this.#deps.directory, 'logs')),
      oldest_seq: await this.#deps.db.read((rx) => this.#oldest.get(rx)?.[0] ?? null),
      counted_at: this.#deps.clock.now(),
    };
  }
}
