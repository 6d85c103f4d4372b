import { type Clock, systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { ShimIdentity } from './shim/shim.ts';
import type { Database } from '../store/database.ts';
import type { Statement } from '../store/statement.ts';
import type { Writer } from '../store/transaction.ts';
import {
  bootId,
  identify,
  type Identity,
  isAlive,
  killCarriers,
  MARKER_VARIABLE,
  membersOf,
  signal,
  untilGone,
} from './identity.ts';

type RunRow = [
  n: number,
  marker: string,
  bootId: string,
  durability: string,
  endedAt: number | null,
];

export interface PreviousRun {
  stop: 'clean' | 'unclean' | 'none';
  sameBoot: boolean;
  durability: string;
}

/** The longest wait for killed processes, in milliseconds. */
const DIES_MS = 2000;

/** The description of a shim. */
export const SHIM_ROW = 'shim';

/** The started children, stored on disk for the case that the server and the keeper die together. */
export class Ledger {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #bootId = bootId();
  readonly #marker: string;
  readonly #insert: Statement;
  readonly #delete: Statement;
  /** Children whose rows are to be deleted. */
  readonly #ended: Identity[] = [];
  #run = 0;

  constructor({ db, clock, marker }: { db: Database; clock: Clock; marker: string }) {
    this.#db = db;
    this.#clock = clock;
    this.#marker = marker;
    this.#insert = db.prepare(
      'INSERT OR REPLACE INTO children (pid, started_ticks, boot_id, marker, what, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#delete = db.prepare('DELETE FROM children WHERE pid = ? AND started_ticks = ?');
  }

  /** Stores the start of this run; returns how the previous one ended. */
  begin(durability: string): Promise<PreviousRun> {
    const last = this.#db.prepare<RunRow>(
      'SELECT n, marker, boot_id, durability, ended_at FROM runs ORDER BY n DESC LIMIT 1',
    );
    const insert = this.#db.prepare<[number]>(
      'INSERT INTO runs (marker, boot_id, durability, started_at) VALUES (?, ?, ?, ?) RETURNING n',
    );
    return this.#db.transact((tx) => {
      const previous = last.get(tx);
      this.#run =
        insert.get(tx, this.#marker, this.#bootId, durability, this.#clock.now())?.[0] ?? 0;
      if (!previous) return { stop: 'none', sameBoot: true, durability };
      const [, , boot, usedDurability, endedAt] = previous;
      return {
        stop: endedAt === null ? 'unclean' : 'clean',
        sameBoot: boot === this.#bootId,
        durability: usedDurability,
      };
    });
  }

  /** Stores that this run ended in order, so that the next start has nothing to sweep. */
  async end(): Promise<void> {
    const end = this.#db.prepare('UPDATE runs SET ended_at = ?, swept_at = ? WHERE n = ?');
    const now = this.#clock.now();
    await this.#db.transact((tx) => end.run(tx, now, now, this.#run));
  }

  /** Runs `fn` in a transaction; resolves with its result once it is on disk. */
  transact<T>(fn: (tx: Writer) => T): Promise<T> {
    return this.#db.transact(fn);
  }

  /** Stores a child, and deletes the rows of those that were removed. */
  add(
    tx: Writer,
    { pid, startedTicks }: Identity,
    what: string,
    /** The marker of a child of the shim. */
    marker = this.#marker,
  ): void {
    const ended = this.#ended.splice(0);
    if (ended.length > 0) tx.whenLost(() => this.#ended.push(...ended));
    for (const one of ended) this.#delete.run(tx, one.pid, one.startedTicks);
    this.#insert.run(tx, pid, startedTicks, this.#bootId, marker, what, this.#clock.now());
  }

  /**
   * Marks a child as ended. Its row is deleted when the next child is stored, because until then it does no harm: a
   * sweep signals nothing but a process that has the pid and the start time of the row.
   */
  remove(child: Identity): void {
    this.#ended.push(child);
  }

  /**
   * Kills the processes that earlier runs left alive: the listed children whose identity still matches, with their
   * groups, then every process that carries the marker of a run that was not swept, or of a shim. Signals nothing else.
   * Returns the pids that accepted the signal; a child that has changed its user does not, is named in the log, and is
   * removed from the list. `spared`: a shim that is connected; `held`: its children.
   */
  async sweep(
    log: Logger,
    spared: ShimIdentity | null = null,
    held: readonly { pid: number }[] = [],
  ): Promise<number[]> {
    const sparedPids = new Set((spared ? [spared.identity, ...held] : []).map(({ pid }) => pid));
    const children = this.#db.prepare<[number, number, string]>(
      'SELECT pid, started_ticks, boot_id FROM children',
    );
    const unswept = this.#db.prepare<[string]>(
      'SELECT marker FROM runs WHERE swept_at IS NULL AND n < ? AND boot_id = ?',
    );
    const shims = this.#db.prepare<[string]>(
      'SELECT marker FROM children WHERE what = ? AND boot_id = ? AND marker <> ?',
    );
    const { listed, markers } = this.#db.peek((rx) => ({
      listed: children.all(rx).filter(([pid]) => !sparedPids.has(pid)),
      markers: [
        ...unswept.all(rx, this.#run, this.#bootId),
        ...shims.all(rx, SHIM_ROW, this.#bootId, spared?.marker ?? ''),
      ],
    }));
    const killed = new Set<number>();
    const dying = new Set<number>();
    const left: number[] = [];
    // Each listed child leads a group of its own.
    const groups = listed.flatMap(([pid, startedTicks, boot]) =>
      boot === this.#bootId && isAlive({ pid, startedTicks }) ? [pid] : [],
    );
    // Before the groups, because it may be by a living parent alone that a process is known as ours.
    for (const [marker] of markers) {
      const carriers = await killCarriers(`${MARKER_VARIABLE}=${marker}`, groups);
      for (const pid of carriers) killed.add(pid);
    }
    for (const pid of groups) {
      signal(-pid, 'SIGKILL');
      const members = await membersOf(pid);
      const refusing = members.filter((member) => signal(member, 0) === 'refused');
      left.push(...refusing);
      for (const member of members) if (!refusing.includes(member)) dying.add(member);
      if (!refusing.includes(pid)) killed.add(pid);
    }
    const dead = [...killed, ...dying].flatMap((pid) => identify(pid) ?? []);
    // Until they are gone, they may have ports and locks.
    await untilGone(dead, DIES_MS, systemClock);
    if (killed.size > 0)
      log.warn({ pids: [...killed] }, 'killed processes that an earlier run left running');
    if (left.length > 0)
      log.warn(
        { pids: left },
        'an earlier run left processes of another user running: stop them yourself',
      );
    const swept = this.#db.prepare('UPDATE runs SET swept_at = ? WHERE swept_at IS NULL AND n < ?');
    await this.#db.transact((tx) => {
      for (const [pid, startedTicks] of listed) this.#delete.run(tx, pid, startedTicks);
      swept.run(tx, this.#clock.now(), this.#run);
    });
    return [...killed];
  }
}
