import type { ServerParts } from '../../../core/events/server-parts.ts';
import fs from 'node:fs/promises';
import path from 'node:path';
import { treeBytes } from '../../../core/lib/directory-size.ts';
import type { SnapshotStore } from './store.ts';

/** If an object store has more bytes, its session gets another one. */
const FULL_BYTES = 32 * 1024 * 1024;
/** The time between two searches for object stores that are too old or too large, in milliseconds. */
const TRIM_EVERY_MS = 10 * 60_000;
const DAY_MS = 86_400_000;

interface Dependencies extends Pick<ServerParts, 'db' | 'clock'> {
  store: SnapshotStore;
  /** The directory of all object stores. */
  root: string;
  settings: () => { max_bytes: number; max_age_days: number };
}

/**
 * The directories of the objects of snapshots: `SESSION/NUMBER`. Each holds what the repository lacked, and is removed
 * as a whole with its snapshots, so nothing has to find out which object is still needed.
 */
export class SnapshotObjectStores {
  readonly #deps: Dependencies;
  /** The number and the bytes of the object store that each session writes to. */
  readonly #open = new Map<string, { number: number; bytes: number }>();
  readonly #busy = new Set<string>();
  readonly #leaving = new Set<string>();
  #trimmedAt: number | null = null;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  pathOf(objectStore: string): string {
    return path.join(this.#deps.root, objectStore);
  }

  /** Runs `work` with the object store of a session for new objects, which is not removed meanwhile. */
  async use<T>(sessionId: string, work: (objectStore: string) => Promise<T>): Promise<T> {
    const open = this.#open.get(sessionId) ?? (await this.#newest(sessionId));
    const isLeaving = this.#leaving.has(path.join(sessionId, String(open.number)));
    if (isLeaving || open.bytes > FULL_BYTES)
      Object.assign(open, { number: open.number + 1, bytes: 0 });
    this.#open.set(sessionId, open);
    const objectStore = path.join(sessionId, String(open.number));
    this.#busy.add(objectStore);
    try {
      await fs.mkdir(this.pathOf(objectStore), { recursive: true, mode: 0o700 });
      return await work(objectStore);
    } finally {
      open.bytes = await treeBytes(this.pathOf(objectStore));
      this.#busy.delete(objectStore);
    }
  }

  /** Removes the files of a session whose rows are gone. */
  async removeSession(sessionId: string): Promise<void> {
    this.#open.delete(sessionId);
    await fs.rm(this.pathOf(sessionId), { recursive: true, force: true });
  }

  /** Removes object stores that are too old, and the oldest while all together are too large; at most every ten minutes. */
  async trim(): Promise<void> {
    const { clock, settings } = this.#deps;
    const now = clock.monotonic();
    if (this.#trimmedAt !== null && now - this.#trimmedAt < TRIM_EVERY_MS) return;
    this.#trimmedAt = now;
    const { max_bytes, max_age_days } = settings();
    const oldest = clock.now() - max_age_days * DAY_MS;
    const snapshotObjectStores = (await this.#all()).toSorted((one, other) => one.at - other.at);
    let total = snapshotObjectStores.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { objectStore, at, bytes } of snapshotObjectStores) {
      if (at >= oldest && total <= max_bytes) return;
      if (this.#busy.has(objectStore)) continue;
      await this.#remove(objectStore);
      total -= bytes;
    }
  }

  async #remove(objectStore: string): Promise<void> {
    const { db, store } = this.#deps;
    this.#open.delete(path.dirname(objectStore));
    this.#leaving.add(objectStore);
    try {
      await db.transact((tx) => store.forgetObjectStore(tx, objectStore));
      await fs.rm(this.pathOf(objectStore), { recursive: true, force: true });
      // Only an empty directory of a session goes.
      await fs.rmdir(path.dirname(this.pathOf(objectStore))).catch(() => undefined);
    } finally {
      this.#leaving.delete(objectStore);
    }
  }

  /** Lists all object stores, with the time of their newest snapshot; 0 without a snapshot. */
  async #all(): Promise<{ objectStore: string; at: number; bytes: number }[]> {
    const { db, store, root } = this.#deps;
    const found: { objectStore: string; at: number; bytes: number }[] = [];
    for (const session of await namesIn(root))
      for (const number of await namesIn(path.join(root, session))) {
        const objectStore = path.join(session, number);
        const at = (await db.read((rx) => store.newestIn(rx, objectStore))) ?? 0;
        found.push({ objectStore, at, bytes: await treeBytes(this.pathOf(objectStore)) });
      }
    return found;
  }

  async #newest(sessionId: string): Promise<{ number: number; bytes: number }> {
    const names = await namesIn(path.join(this.#deps.root, sessionId));
    const number = Math.max(1, ...names.map(Number).filter(Number.isInteger));
    const bytes = await treeBytes(this.pathOf(path.join(sessionId, String(number))));
    return { number, bytes };
  }
}

async function namesIn(directory: string): Promise<string[]> {
  return fs.readdir(directory).catch(() => []);
}
