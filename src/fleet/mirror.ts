import type { LogEntry } from '../core/events/log.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Failpoint } from '../core/lib/failpoint.ts';
import type { Fork } from '../core/store/forks.ts';
import {
  EPOCH_KIND,
  type EpochMark,
  GAP_KIND,
  type GapMark,
  type MirroredMessage,
  newestStaying,
  stays,
} from './mirrored.ts';
import type { Logger } from '../core/lib/log.ts';
import { Diverged, type MemberTask } from './member.ts';
import { type Draft, type MirrorStream, NatsMirrorStream, Refused } from './nats-mirror-stream.ts';

/** Events that follow one another. */
export interface MirroredPage {
  entries: readonly LogEntry[];
  /** The highest deleted seq, if retention has deleted events before these; else null. */
  trimmed: number | null;
}

/** The log of this server, as its mirror reads it. */
export interface MirroredLog {
  readonly epoch: string;
  /** The logs that this one is a copy of, and where it parted from each. */
  readonly forks: readonly Fork[];
  /** The newest seq that is on disk. */
  readonly latestSeq: number;
  /** The id of an event; null if the log does not have it, or not any more. */
  idAt(seq: number): string | null;
  /** The seq of the newest event up to `seq` that stays; 0: the log has none. */
  stayingUpTo(seq: number): number;
  /** Ends when `ending` has aborted and everything up to then was yielded. After a wait for an event, it awaits `gather`. */
  follow(
    after: number,
    ending: AbortSignal,
    gather: () => Promise<void>,
  ): AsyncIterable<MirroredPage>;
}

/** How far the mirror had come, kept for the case that the stream has no message of this node left. */
export interface MirrorRow {
  epoch: string;
  seq: number;
  /** The id of the stream. */
  stream: string;
  /** The number of the newest message in the stream. Absent in rows of earlier versions. */
  at?: number;
}

export interface MirrorRows {
  read(): MirrorRow | null;
  write(row: MirrorRow): Promise<void>;
}

export interface MirrorStatus {
  /** starting: it has not reached the stream yet; unreachable: it tries again; diverged: it has stopped for good. */
  state: 'starting' | 'following' | 'unreachable' | 'diverged';
  /** Why, in the states `unreachable` and `diverged`. */
  detail: string | null;
  /** A problem to look into although the mirror works, since its start; null if there is none. */
  notice: string | null;
  /** The newest seq that is known to be in the stream. */
  seq: number;
  /** Counts since the start: events written, batches written, batches refused by the fence, and other failures. */
  events: number;
  batches: number;
  refused: number;
  failed: number;
}

export interface MirrorParts {
  log: MirroredLog;
  stream: MirrorStream;
  rows: MirrorRows;
  clock: Clock;
  failpoint: Failpoint;
  /** Called when `state`, `detail` or `notice` of the status has changed. */
  onState?: (status: MirrorStatus) => void;
  /** Called with each page of the log once it is in the stream. */
  onPublished?: (entries: readonly LogEntry[]) => void;
}

/** So long after the first event of a batch it is made, in ms: whoever waits for that event to be stored goes first. */
const GATHER_MS = 10;
/** Two batches begin at least this far apart, in ms, unless the first was full. */
const MIN_BATCH_INTERVAL_MS = 25;
/** A page of the feed with this many events may be followed by more at once. */
const FULL_PAGE = 256;
/** The pause before another attempt: it starts here and doubles up to the maximum, in ms. */
const RETRY_MS = 50;
const MAX_RETRY_MS = 2000;
/** The row is written at most this often, in ms. */
const ROW_MS = 2000;
/** So often the stream is asked whether it still has what was written, in ms: also where nothing happens. */
const LOOK_MS = 10_000;

/** The stream and the log contradict each other: somebody has to look. */
class Contradiction extends Error {}

/** Where a mirror stands: what it has written last. */
interface MirrorPosition {
  /** The number of the newest message of this node in the stream. */
  expected: number;
  /** The seq up to which the log is in the stream. */
  after: number;
  /** The seq of the newest event in the stream that stays. */
  prev: number;
  /** The end of the gap that the newest message reports. */
  reportedGap: number;
}

/**
 * Copies the durable events of this server into the stream of the fleet, each once and in order. How far it has come is
 * what the stream says, and every batch is fenced by that: one that is repeated, late or from a second writer is refused
 * as a whole. After any error it asks the stream again. It follows the feed as any stream does, so nothing in the server
 * waits for it.
 */
export class Mirror {
  readonly #parts: MirrorParts;
  #status: MirrorStatus = {
    state: 'starting',
    detail: null,
    notice: null,
    seq: 0,
    events: 0,
    batches: 0,
    refused: 0,
    failed: 0,
  };
  #rowAt = Number.NEGATIVE_INFINITY;
  #rowSeq: number | null = null;

  constructor(parts: MirrorParts) {
    this.#parts = parts;
  }

  get status(): Readonly<MirrorStatus> {
    return this.#status;
  }

  /**
   * Runs until `signal` aborts, and then writes what is in the log up to then if NATS takes it; or until stream
   * and log contradict each other, which the status says. Never rejects.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    let pause = RETRY_MS;
    while (!signal.aborted) {
      const { batches } = this.#status;
      try {
        const position = await this.#resume(await this.#parts.stream.head());
        // A stream that can be read may still refuse writes.
        const isAll = position.after >= this.#parts.log.latestSeq;
        if (isAll || this.#status.state === 'starting') this.#setState('following', null);
        await this.#follow(position, signal);
        pause = RETRY_MS;
        continue;
      } catch (error) {
        if (signal.aborted) return;
        const { message } = error as Error;
        if (error instanceof Contradiction) return this.#setState('diverged', message);
        if (error instanceof Refused) this.#status.refused++;
        else {
          this.#status.failed++;
          this.#setState('unreachable', message);
        }
      }
      pause = this.#status.batches > batches ? RETRY_MS : Math.min(pause * 2, MAX_RETRY_MS);
      await clock.sleep(pause, signal).catch(() => undefined);
    }
  }

  /** Finds the position to continue from, by the newest message of this node. Throws Contradiction. */
  async #resume(head: MirroredMessage | null): Promise<MirrorPosition> {
    const { log, rows } = this.#parts;
    if (!head) {
      const row = rows.read();
      const after = row && row.epoch === log.epoch ? await this.#retiredUpTo(row) : 0;
      if (after === 0) this.#rowSeq = null;
      return { expected: 0, after, prev: log.stayingUpTo(after), reportedGap: 0 };
    }
    const { streamSeq: expected, epoch, seq } = head;
    if (epoch !== log.epoch) return this.#changeEpoch(head);
    assertSameLog(log, head);
    return { expected, after: seq, prev: newestStaying(head), reportedGap: reportedGap(head) };
  }

  /**
   * Returns the seq up to which retention of the stream took the events of this log; 0 if somebody emptied the stream or
   * created it again, which a notice reports: since then, any server could take the name of this node.
   */
  async #retiredUpTo(row: MirrorRow): Promise<number> {
    const { stream } = this.#parts;
    const isSame = row.stream === (await stream.id());
    if (isSame && (await stream.mayHaveRetired(row.at ?? null))) return row.seq;
    const notice = emptiedText(row.seq, isSame);
    if (this.#status.notice !== notice) {
      this.#status = { ...this.#status, notice };
      this.#parts.onState?.(this.#status);
    }
    return 0;
  }

  /** A copy of the log in the stream continues where it parted from that log; any other log starts at its first event. */
  async #changeEpoch(head: MirroredMessage): Promise<MirrorPosition> {
    const { log } = this.#parts;
    const fork = log.forks.find(({ epoch }) => epoch === head.epoch);
    const after = fork ? Math.min(fork.seq, head.seq) : 0;
    const mark: EpochMark = {
      from: { epoch: head.epoch, seq: head.seq },
      to: { epoch: log.epoch, after },
    };
    const drafts = [{ kind: EPOCH_KIND, seq: after, text: JSON.stringify(mark) }];
    const prev = log.stayingUpTo(after);
    const expected = await this.#publish({ expected: head.streamSeq, prev }, drafts);
    return { expected, after, prev, reportedGap: 0 };
  }

  /** Writes what happens, until it is time to look at the stream again: it may be another, or have lost something. */
  async #follow(position: MirrorPosition, signal: AbortSignal): Promise<void> {
    const { log, clock } = this.#parts;
    const look = new AbortController();
    using _soon = clock.after(LOOK_MS, () => look.abort());
    const ending = AbortSignal.any([signal, look.signal]);
    const gather = () => clock.sleep(GATHER_MS, ending).catch(() => undefined);
    for await (const page of log.follow(position.after, ending, gather)) {
      const began = clock.monotonic();
      await this.#mirror(page, position);
      this.#setState('following', null);
      if (page.entries.length >= FULL_PAGE) continue;
      // Events of this pause form one batch.
      const rest = MIN_BATCH_INTERVAL_MS - (clock.monotonic() - began);
      if (rest > 0) await clock.sleep(rest, signal).catch(() => undefined);
    }
    await this.#keepRow(position);
  }

  /** Writes a page of the log, and moves the position behind it. */
  async #mirror({ entries, trimmed }: MirroredPage, position: MirrorPosition): Promise<void> {
    const gap =
      trimmed !== null && trimmed !== position.reportedGap ? gapDraft(position, trimmed) : null;
    const drafts: readonly Draft[] = gap ? [gap, ...entries] : entries;
    if (drafts.length === 0) return;
    position.expected = await this.#publish(position, drafts);
    position.after = entries.at(-1)?.seq ?? position.after;
    position.prev = entries.findLast(({ kind }) => stays(kind))?.seq ?? position.prev;
    this.#status.seq = position.after;
    this.#status.events += entries.length;
    this.#parts.onPublished?.(entries);
    await this.#keepRow(position);
  }

  async #publish(
    { expected, prev }: Pick<MirrorPosition, 'expected' | 'prev'>,
    drafts: readonly Draft[],
  ) {
    const { log, stream, failpoint } = this.#parts;
    failpoint('mirror.before');
    const last = await stream.publish({ epoch: log.epoch, expected, prev, drafts });
    failpoint('mirror.after');
    this.#status.batches++;
    return last;
  }

  async #keepRow({ after: seq, expected: at }: MirrorPosition): Promise<void> {
    const { log, stream, rows, clock } = this.#parts;
    if (seq === this.#rowSeq || clock.monotonic() - this.#rowAt < ROW_MS) return;
    this.#rowAt = clock.monotonic();
    this.#rowSeq = seq;
    await rows.write({ epoch: log.epoch, seq, stream: await stream.id(), at });
  }

  #setState(state: MirrorStatus['state'], detail: string | null): void {
    if (this.#status.state === state && this.#status.detail === detail) return;
    this.#status = { ...this.#status, state, detail };
    this.#parts.onState?.(this.#status);
  }
}

function emptiedText(seq: number, isSame: boolean): string {
  const what = isSame ? 'was emptied' : 'was created again';
  return `the stream of the fleet ${what}: it had events of this server up to ${seq}, and every node name was free; this server copies its events again: check with cadre fleet nodes that each name belongs to the right server, then restart this server to clear this message`;
}

/** How a log gets an epoch of its own, with which it may continue in the fleet. */
const NEW_LOG =
  'stop this server, back up and restore its database to give the log a new epoch, and start the server: see "Restore a node from a backup" in docs/fleet.md';

/** Throws Contradiction where the stream has events of this epoch that this log does not have. */
function assertSameLog(log: MirroredLog, { seq, id }: MirroredMessage): void {
  if (seq > log.latestSeq)
    throw new Contradiction(
      `the log of this server ends at event ${log.latestSeq}, but the fleet has event ${seq}: the data directory was restored, or copied from another server: ${NEW_LOG}; if the other server still runs, set another fleet.name instead`,
    );
  const own = id === null ? null : log.idAt(seq);
  if (own !== null && own !== id)
    throw new Contradiction(
      `event ${seq} is ${own} here and ${id} in the fleet: two servers ran on copies of one data directory: stop one of them permanently; to keep this one, ${NEW_LOG}, and free its name with cadre fleet nodes replace NAME --yes`,
    );
}

function gapDraft({ after }: MirrorPosition, trimmed: number): Draft {
  const mark: GapMark = { after, up_to: trimmed };
  return { kind: GAP_KIND, seq: after, text: JSON.stringify(mark) };
}

function reportedGap({ kind, text }: MirroredMessage): number {
  return kind === GAP_KIND ? (JSON.parse(text) as GapMark).up_to : 0;
}

/** The task of a member that mirrors its events. */
export function mirrorTask(
  parts: Omit<MirrorParts, 'stream' | 'onState'> & { logger: Logger },
): MemberTask {
  return async ({ connection, names, node }, signal, report) => {
    const mirror = new Mirror({
      ...parts,
      stream: new NatsMirrorStream(connection, names, node),
      onState({ state, detail, notice, seq }) {
        parts.logger.info({ state, detail, notice, seq }, 'mirror');
        const trouble =
          state === 'unreachable' ? `cannot mirror events to the fleet: ${detail}` : null;
        report(trouble, notice);
      },
    });
    await mirror.run(signal);
    const { state, detail } = mirror.status;
    if (state === 'diverged') throw new Diverged(detail ?? state);
  };
}
