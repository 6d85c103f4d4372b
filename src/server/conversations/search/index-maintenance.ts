import type { SearchIndex } from '../../../api/search.ts';
import { AppError, isAppError } from '../../../api/errors.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { errorMessage } from '../../../core/lib/error-message.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import { yieldToEventLoop } from '../../../core/lib/slices.ts';
import { SqliteError } from '../../../core/store/raw-statement.ts';
import { asStorageError, isFull, isOutOfReach } from '../../../core/store/storage-error.ts';
import { IndexFile } from './index-file.ts';
import { Indexer } from './indexer.ts';
import type { Rows } from './rows.ts';

export interface IndexMaintenanceDeps extends Pick<ServerParts, 'db' | 'clock' | 'logger'> {
  rows: Rows;
  directory: string;
  wasm: () => Uint8Array;
  bootId: string;
  /** Returns why nothing may be written now; null: it may. */
  shortage: () => string | null;
  shardTexts?: number;
}

/** How long new rows may wait until they are indexed, unless a search comes, in milliseconds. */
const WAIT_MS = 2000;
/** After a step the index rests for so many times as long as the step took: turns come first. */
const REST = 2;
const RETRY_MS = 30_000;
/** How long a search waits for new rows to be indexed, and the first one for a beginning, in milliseconds. */
const CATCH_UP_MS = 400;

interface Open {
  index: IndexFile;
  indexer: Indexer;
}

/** Opens the index, keeps it up to date in the background, and makes a new one where it is damaged. */
export class IndexMaintenance {
  readonly #deps: IndexMaintenanceDeps;
  readonly #steps = new OneAtATime();
  readonly #stopped = new AbortController();
  #open: Open | null = null;
  #timer: Disposable | undefined;
  #working: Promise<void> | undefined;
  /** Whether there may be something new since the last work began. */
  #isWanted = false;
  #detail: string | null = null;

  constructor(deps: IndexMaintenanceDeps) {
    this.#deps = deps;
  }

  /** Looks for new rows after `wait` milliseconds, where there is an index. */
  wake(wait = WAIT_MS): void {
    if (this.#stopped.signal.aborted || (this.#timer && wait > 0) || !this.#isThere) return;
    this.#isWanted = true;
    if (this.#working) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#deps.clock.after(wait, () => {
      this.#timer = undefined;
      this.#isWanted = false;
      this.#working = this.#work().finally(() => {
        this.#working = undefined;
        if (this.#isWanted) this.wake();
      });
    });
  }

  /**
   * Runs `fn` with the index, up to date as far as it is built. If the index is damaged, it is rebuilt, and `fn` runs
   * again.
   */
  async using<T>(fn: (index: IndexFile) => Promise<T>): Promise<T> {
    try {
      return await this.#using(fn);
    } catch (error) {
      if (!isBroken(error) || this.#stopped.signal.aborted) throw asStorageError(error);
      if (error instanceof SqliteError) await this.#begin(error);
      return this.#using(fn);
    }
  }

  status(): SearchIndex {
    const none = { documents: 0, done: 0, back_to: null, bytes: 0, detail: this.#detail };
    if (!this.#open) {
      const isLeft = IndexFile.exists(this.#deps.directory);
      return { state: isLeft ? 'building' : 'off', ...none };
    }
    const { index, indexer } = this.#open;
    const state =
      this.#detail !== null ? 'waiting' : indexer.isBuilt ? ('ready' as const) : 'building';
    return {
      state,
      documents: index.documents,
      done: indexer.done,
      back_to: indexer.backTo,
      bytes: index.bytes,
      detail: this.#detail,
    };
  }

  drop(): Promise<void> {
    return this.#steps.run('step', async () => {
      this.#open?.index.abandon();
      this.#open = null;
      this.#detail = null;
      IndexFile.remove(this.#deps.directory);
    });
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#timer?.[Symbol.dispose]();
    await this.#working;
    await this.#steps.run('step', async () => {
      try {
        this.#open?.index.close();
      } catch (error) {
        // A disk without room keeps no server from stopping.
        this.#noteFailure(error);
      }
      this.#open = null;
    });
  }

  /** Whether there is an index: nobody but a search begins one. */
  get #isThere(): boolean {
    return this.#open !== null || IndexFile.exists(this.#deps.directory);
  }

  async #using<T>(fn: (index: IndexFile) => Promise<T>): Promise<T> {
    await this.#catchUp();
    this.wake(0);
    const open = await this.#steps.run('step', () => this.#opened());
    return fn(open.index);
  }

  async #catchUp(): Promise<void> {
    if (this.#deps.shortage() !== null) return;
    const { clock } = this.#deps;
    const end = clock.monotonic() + CATCH_UP_MS;
    const step = async () => {
      const { index, indexer } = await this.#opened();
      return index.documents < 1000 && !indexer.isBuilt ? indexer.step() : indexer.newer();
    };
    try {
      while ((await this.#steps.run('step', step)) && clock.monotonic() < end)
        await yieldToEventLoop();
    } catch (error) {
      // The index can still be searched while nothing can be added to it.
      if (!this.#open || isBroken(error)) throw error;
      this.#noteFailure(error);
    }
  }

  /** Reads rows until there are no more. Never rejects. */
  async #work(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stopped;
    try {
      while (!signal.aborted) {
        const began = clock.monotonic();
        this.#detail = this.#deps.shortage();
        const isMore =
          this.#detail === null && (await this.#steps.run('step', () => this.#workStep()));
        if (!isMore) break;
        const took = clock.monotonic() - began;
        if (took > 0) await clock.sleep(took * REST, signal);
        else await yieldToEventLoop();
      }
    } catch (error) {
      if (signal.aborted || isAppError(error, 'shutting_down')) return;
      this.#noteFailure(error);
      if (isBroken(error)) await this.#beginAgain(error);
    }
    if (this.#detail !== null) this.#retry();
  }

  async #workStep(): Promise<boolean> {
    // It may have been deleted since the last step.
    if (!this.#isThere) return false;
    const { indexer } = await this.#opened();
    return indexer.step();
  }

  #retry(): void {
    if (this.#stopped.signal.aborted) return;
    this.#timer ??= this.#deps.clock.after(RETRY_MS, () => {
      this.#timer = undefined;
      this.wake(0);
    });
  }

  async #opened(): Promise<Open> {
    if (this.#stopped.signal.aborted) throw new AppError('shutting_down', 'the server is stopping');
    if (this.#open) return this.#open;
    const opened = await this.#openFile();
    if (!(await opened.indexer.isOfThisStore())) {
      opened.index.abandon();
      IndexFile.remove(this.#deps.directory);
      this.#open = await this.#openFile();
    } else this.#open = opened;
    await this.#open.indexer.begin();
    this.#detail = null;
    return this.#open;
  }

  async #openFile(): Promise<Open> {
    const { db, rows, clock } = this.#deps;
    const index = await IndexFile.open({
      ...this.#deps,
      epoch: db.epoch,
      onDamage: (error) => this.#noteRebuild(error),
    });
    return { index, indexer: new Indexer({ rows, index, clock }) };
  }

  #noteFailure(error: unknown): void {
    this.#deps.logger.warn({ err: error }, 'cannot write the search index');
    this.#detail = isFull(error) ? 'the disk is full: free some space' : errorMessage(error);
  }

  /** Makes an index in the place of a damaged one, without a search. Never rejects. */
  async #beginAgain(error: unknown): Promise<void> {
    try {
      await this.#begin(error);
      await this.#steps.run('step', () => this.#opened());
      this.#isWanted = true;
    } catch (again) {
      this.#noteFailure(again);
    }
  }

  async #begin(error: unknown): Promise<void> {
    this.#noteRebuild(error);
    await this.drop();
  }

  #noteRebuild(error: unknown): void {
    this.#deps.logger.warn({ err: error }, 'the search index is damaged: rebuilding it');
  }
}

/** Whether the index is damaged, or was closed for that. */
function isBroken(error: unknown): boolean {
  if (error instanceof AppError) return error.code === 'shutting_down';
  return error instanceof SqliteError && !isFull(error) && !isOutOfReach(error);
}
