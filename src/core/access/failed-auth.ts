import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
/** The number of failures of one source within a minute whose responses are not delayed. */
const PROMPT_FAILURES = 20;
/** The delay of the response to each further failure, in milliseconds. */
const DELAY_MS = SECOND_MS;
/** The maximum number of sources in memory; all further sources count as one. */
const MAX_SOURCES = 1000;
/** The maximum number of delayed responses; beyond it a response is sent at once and its connection is closed. */
const MAX_WAITING = 100;
const LINES_A_SECOND = 5;

/** The addresses of this machine, which count as one source: whoever has one of them has all of them. */
const LOOPBACK = /(?:127\.\d+\.\d+\.\d+|(?<![\w:])::1)$/;

/** The key of all sources beyond `MAX_SOURCES`. */
const OTHERS = 'others';

/** Slows down guessing of tokens. A flood of failures fills neither the log nor the memory. */
export class FailedAuthentications implements Disposable {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** The times of each source's newest failures; the source that failed last is the last entry. */
  readonly #sources = new Map<string, number[]>();
  #waiting = 0;
  readonly #lines = { since: -SECOND_MS, written: 0, leftOut: 0 };
  #summary: Disposable | undefined;

  constructor({ clock, logger }: { clock: Clock; logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  get remembered(): number {
    return this.#sources.size;
  }

  /**
   * Counts a failed request; resolves when its response may be sent, or with `hangUp` if so many are delayed that the
   * connection has to be closed after the response. `log` is the request's own logger, which a flood silences.
   */
  async note(failed: {
    source: string;
    log: Pick<Logger, 'warn' | 'level'>;
    /** Aborts when the client no longer waits for the response. */
    signal: AbortSignal;
  }): Promise<{ hangUp: boolean }> {
    const { source, log, signal } = failed;
    this.#write(source, log);
    if (!this.#isPastLimit(source)) return { hangUp: false };
    if (this.#waiting === MAX_WAITING) return { hangUp: true };
    this.#waiting++;
    await this.#clock.sleep(DELAY_MS, signal).catch(() => undefined);
    this.#waiting--;
    return { hangUp: false };
  }

  [Symbol.dispose](): void {
    this.#summary?.[Symbol.dispose]();
    this.#logLeftOut();
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
    this.#summary ??= this.#clock.after(lines.since + SECOND_MS - now, () => this.#logLeftOut());
  }

  #logLeftOut(): void {
    this.#summary = undefined;
    const { leftOut } = this.#lines;
    this.#lines.leftOut = 0;
    if (leftOut > 0)
      this.#logger.warn({ left_out: leftOut }, 'more requests failed to authenticate');
  }

  #isPastLimit(source: string): boolean {
    const now = this.#clock.monotonic();
    this.#forgetUntil(now - MINUTE_MS);
    const owner = ownerOf(source);
    const isKnown = this.#sources.has(owner) || this.#sources.size < MAX_SOURCES;
    const counted = isKnown ? owner : OTHERS;
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

/** The owner of an address: this machine for all of its own, and a network of 64 bits, as one site gets, for IPv6. */
function ownerOf(source: string): string {
  const owner = source.replace(LOOPBACK, 'loopback');
  return owner.replace(/[\da-f:]*:[\da-f:]*:[\da-f:]*$/i, networkOf);
}

function networkOf(address: string): string {
  const [head = '', tail] = address.split('::', 2);
  const groups = (text: string) => text.split(':').filter((group) => group !== '');
  const written = [...groups(head), ...(tail === undefined ? [] : groups(tail))];
  const zeros = Array<string>(Math.max(0, 8 - written.length)).fill('0');
  const all = [...groups(head), ...zeros, ...groups(tail ?? '')];
  return `${all.slice(0, 4).join(':')}::/64`;
}
