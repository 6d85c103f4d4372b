import { isAppError } from '../../api/errors.ts';
import type { ServerParts } from '../../core/events/server-parts.ts';
import { yieldToEventLoop } from '../../core/lib/slices.ts';
import { checkIndexes, type CheckPosition, type IndexFault } from '../../core/store/index-check.ts';

/** After a slice the check rests for so many times as long as the slice took. */
const REST = 9;
/** The position of a check is stored every so often, in milliseconds. */
const STORE_EVERY_MS = 60_000;
const POSITION = 'index_check';

/**
 * Compares the tables of the store with their indexes in the background. A fault degrades health. If the server stops,
 * the next check begins where this one was.
 */
export class IndexChecker {
  readonly #deps: Pick<ServerParts, 'db' | 'clock' | 'logger'>;
  readonly #read;
  readonly #write;
  #isRunning = false;

  constructor(deps: Pick<ServerParts, 'db' | 'clock' | 'logger'>) {
    this.#deps = deps;
    this.#read = deps.db.prepare<[string]>('SELECT value FROM meta WHERE key = ?');
    this.#write = deps.db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
  }

  /** Runs a check, unless one is running, until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      await this.#check(signal);
    } catch (error) {
      const isStop = isAppError(error, 'shutting_down');
      if (!signal.aborted && !isStop)
        this.#deps.logger.warn({ err: error }, 'the indexes of the store could not be checked');
    } finally {
      this.#isRunning = false;
    }
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { db, clock, logger } = this.#deps;
    const began = clock.monotonic();
    let storedAt = began;
    let busy = 0;
    let slices = 0;
    let sliceAt = began;
    const from = await this.#position();
    for await (const position of checkIndexes(db, from, (fault) => this.#note(fault))) {
      const now = clock.monotonic();
      const took = now - sliceAt;
      busy += took;
      slices++;
      if (now - storedAt >= STORE_EVERY_MS) {
        await this.#store(position);
        storedAt = now;
      }
      if (took > 0) await clock.sleep(took * REST, signal);
      else await yieldToEventLoop();
      signal.throwIfAborted();
      sliceAt = clock.monotonic();
    }
    if (from !== null || storedAt !== began) await this.#store(null);
    const ms = { busy_ms: Math.round(busy), took_ms: Math.round(clock.monotonic() - began) };
    logger.info({ slices, ...ms }, 'checked the indexes of the store');
  }

  #note({ table, index, problem }: IndexFault): void {
    const list = index === null ? `table ${table}` : `index ${index} of table ${table}`;
    this.#deps.db.damage.note(index ?? table, `${list} ${problem}`);
    this.#deps.logger.error(
      { table, index },
      `the store is damaged: ${list} ${problem}: back up the database, stop the server, and restore an older backup`,
    );
  }

  /** The position at which an earlier check has ended early; null if there is none. */
  async #position(): Promise<CheckPosition | null> {
    const text = await this.#deps.db.read((rx) => this.#read.get(rx, POSITION)?.[0]);
    try {
      const found = JSON.parse(text ?? 'null') as Partial<CheckPosition> | null;
      const { table, row } = found ?? {};
      return typeof table === 'string' && Number.isSafeInteger(row)
        ? (found as CheckPosition)
        : null;
    } catch {
      return null;
    }
  }

  async #store(position: CheckPosition | null): Promise<void> {
    await this.#deps.db.transact((tx) => this.#write.run(tx, POSITION, JSON.stringify(position)));
  }
}
