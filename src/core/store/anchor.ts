import { constants } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { checksum } from './corruption-log.ts';
import { DATABASE_FILE } from './connection.ts';
import type { FileSystem } from './host/file-system.ts';

/** The newest position of a log that was on disk. */
export interface Position {
  /** The id of the log. */
  epoch: string;
  seq: number;
}

export const ANCHOR_FILE = `${DATABASE_FILE}.anchor`;
/** The key of the table `meta` under which a database has the id of the log that has an anchor. */
export const ANCHORED = 'anchored';
/** Two slots are written in turn, so that a torn write leaves one that is whole. */
const SLOTS = [0, 1] as const;
const SLOT_BYTES = 512;
/** The longest time until a position is synced, in milliseconds. */
const SYNC_MS = 1000;

interface AnchorOptions {
  directory: string;
  fs: FileSystem;
  clock: Clock;
  /** Called if the file cannot be written. Nothing else fails then. */
  onWarning: (message: string, error: unknown) => void;
}

/**
 * Keeps the newest position of the log outside the database and its write-ahead log (WAL), so that the next start notices
 * a WAL that was lost or damaged. A position is written once its events are on disk, so at durability `full` the file is
 * never ahead of the log. It survives a killed server; after a power loss it may be `SYNC_MS` old.
 */
export class Anchor {
  readonly #options: AnchorOptions;
  readonly #fd: number;
  /** Content of the file when it was opened; null if it was new or damaged. */
  readonly found: Position | null;
  #slot: number;
  /** The number of positions that were written, which orders the slots. */
  #count: number;
  #sync: Disposable | undefined;
  #isBroken = false;

  /** Opens or creates the file. Throws the error of the system. */
  constructor(options: AnchorOptions) {
    this.#options = options;
    const { O_RDWR, O_CREAT } = constants;
    const file = path.join(options.directory, ANCHOR_FILE);
    this.#fd = options.fs.openSync(file, O_RDWR | O_CREAT, 0o600);
    const [first, second] = SLOTS.map((slot) => this.#read(slot));
    const isSecondNewer = (second?.at ?? 0) > (first?.at ?? 0);
    this.#slot = isSecondNewer ? 1 : 0;
    const newest = isSecondNewer ? second : first;
    this.found = newest ? { epoch: newest.epoch, seq: newest.seq } : null;
    this.#count = newest?.at ?? 0;
  }

  /** Writes a position whose events are on disk. */
  note(position: Position): void {
    if (!this.#write(position)) return;
    const { fs, clock } = this.#options;
    this.#sync ??= clock.after(SYNC_MS, () => {
      this.#sync = undefined;
      fs.fdatasync(this.#fd, (error) => error && this.#giveUp(error));
    });
  }

  /** Writes the first position of a log, and syncs the file and its name. Returns whether that is on disk. */
  establish(position: Position): boolean {
    if (!this.#write(position)) return false;
    const { fs, directory } = this.#options;
    try {
      fs.fsyncSync(this.#fd);
      const fd = fs.openSync(directory, 'r');
      try {
        fs.fsyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
      return true;
    } catch (error) {
      this.#giveUp(error);
      return false;
    }
  }

  close(): void {
    const { fs } = this.#options;
    this.#isBroken = true;
    this.#sync?.[Symbol.dispose]();
    fs.closeSync(this.#fd);
  }

  /** Returns false for a file that can no longer be written. */
  #write(position: Position): boolean {
    if (this.#isBroken) return false;
    this.#slot = 1 - this.#slot;
    const text = JSON.stringify({ ...position, at: ++this.#count });
    const slot = Buffer.alloc(SLOT_BYTES, ' ');
    slot.write(`${checksum(text)} ${text}`);
    slot[SLOT_BYTES - 1] = 0x0a;
    try {
      this.#options.fs.writeSync(this.#fd, slot, 0, SLOT_BYTES, this.#slot * SLOT_BYTES);
      return true;
    } catch (error) {
      this.#giveUp(error);
      return false;
    }
  }

  #read(slot: number): (Position & { at: number }) | null {
    const bytes = Buffer.alloc(SLOT_BYTES);
    this.#options.fs.readSync(this.#fd, bytes, 0, SLOT_BYTES, slot * SLOT_BYTES);
    const [, sum, text = ''] = /^(\d+) (\{.*\}) *\n$/.exec(bytes.toString('utf8')) ?? [];
    return checksum(text) === Number(sum) ? (JSON.parse(text) as Position & { at: number }) : null;
  }

  #giveUp(error: unknown): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#options.onWarning(
      `cannot write ${ANCHOR_FILE}: the next start would not detect a lost log`,
      error,
    );
  }
}
