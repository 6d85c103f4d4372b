import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
/** So many failures of one source within a minute are answered at once. */
const PROMPT_FAILURES = 20;
/** The delay of the answer to each further failure. */
const DELAY_MS = SECOND_MS;
/** A bound on memory: further sources count as one. */
const MAX_SOURCES = 1000;
/** A bound on delayed answers: further failures are answered at once, and their connections end. */
const MAX_WAITING = 100;
const LINES_A_SECOND = 5;

/** The key of all sources beyond `MAX_SOURCES`. */
const OTHERS = 'others';

/** Slows down guessing of tokens. A flood of failures fills neither the log nor the memory. */
export class FailedAuthentications implements Disposable {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** When the newest failures of a source were; the source that failed last is the last. */
  readonly #sources = new Map<string, number[]>();
  #waiting = 0;
  readonly #lines = { since: -SECOND_MS, written: 0, leftOut: 0 };
  #summary: Disposable | undefined;

  constructor({ clock, logger }: { clock: Clock; logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * Takes note of a failed request; resolves when it may be answered, or with `hangUp` where so many wait
   * that its connection has to end with the answer. `log` is the request's own: in a flood it falls silent.
   */
  async note(failed: {
    source: string;
    log: Pick<Logger, 'warn' | 'level'>;
    /** Aborts when nobody waits for the answer any more. */
    gone: AbortSignal;
  }): Promise<{ hangUp: boolean }> {
    const { source, log, gone } = failed;
    this.#write(source, log);
    if (!this.#isPastLimit(source)) return { hangUp: false };
    if (this.#waiting === MAX_WAITING) return { hangUp: true };
    this.#waiting++;
    await this.#clock.sleep(DELAY_MS, gone).catch(() => undefined);
    this.#waiting--;
    return { hangUp: false };
  }

  [Symbol.dispose](): void {
    this.#summary?.[Symbol.dispose]();
    this.#tellLeftOut();
  }

  #write(source: string, log: Pick<Logger, 'warn' | 'level'>): void {
    const now = this.#clock.monotonic();
    const lines = this.#lines;
    if (now - lines.since >= SECOND_MS) Object.assign(lines, { since: now, written: 0 });
    if (lines.written < LINES_A_SECOND) {
      lines.written++;
      log.warn({ source }, 'a request failed to authenticate');
      return;
    }
    log.level = 'silent';
    lines.leftOut++;
    this.#summary ??= this.#clock.after(lines.since + SECOND_MS - now, () => this.#tellLeftOut());
  }

  #tellLeftOut(): void {
    this.#summary = undefined;
    const { leftOut } = this.#lines;
    this.#lines.leftOut = 0;
    if (leftOut > 0)
      this.#logger.warn({ left_out: leftOut }, 'more requests failed to authenticate');
  }

  #isPastLimit(source: string): boolean {
    const now = this.#clock.monotonic();
    this.#forgetUntil(now - MINUTE_MS);
    const isKnown = this.#sources.has(source) || this.#sources.size < MAX_SOURCES;
    const counted = isKnown ? source : OTHERS;
    const times = [...(this.#sources.get(counted) ?? []), now].slice(-PROMPT_FAILURES - 1);
    this.#sources.delete(counted);
    this.#sources.set(counted, times);
    return times.length > PROMPT_FAILURES && now - (times[0] ?? 0) < MINUTE_MS;
  }

  #forgetUntil(then: number): void {
    for (const [source, times] of this.#sources) {
      if ((times.at(-1) ?? 0) > then) return;
      this.#sources.delete(source);
    }
  }
}
