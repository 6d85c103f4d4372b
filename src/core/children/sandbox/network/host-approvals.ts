import type { Clock } from '../../../lib/clock.ts';

/** The time for which a refusal of a person holds, in milliseconds. Otherwise each attempt of a program would ask again. */
const REFUSED_MS = 300_000;
/** More refusals are not remembered. */
const MAX_REFUSED = 1000;

/** The answer to whether a sandbox may reach a host: for this connection, for all of the session, or not. */
export type HostAnswer = 'once' | 'session' | 'no' | 'nobody';

/** Asks a person. The signal aborts when no connection waits for the answer any more. */
export type AskHost = (host: string, port: number, signal: AbortSignal) => Promise<HostAnswer>;

interface Asking {
  answer: Promise<HostAnswer>;
  waiting: number;
  abort: AbortController;
}

/** Asks once for all connections that wait for the same host, and remembers the answers that hold for longer. */
export class HostApprovals {
  readonly #ask: AskHost;
  readonly #clock: Clock;
  readonly #asking = new Map<string, Asking>();
  readonly #allowed = new Set<string>();
  readonly #refused = new Map<string, number>();

  constructor(ask: AskHost, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** Resolves with whether a connection may reach a host. `gone` aborts when the program closes the connection. */
  async allows(host: string, port: number, gone: AbortSignal): Promise<boolean> {
    const key = `${host}:${port}`;
    if (gone.aborted) return false;
    if (this.#allowed.has(key)) return true;
    const refusedAt = this.#refused.get(key);
    if (refusedAt !== undefined && this.#clock.monotonic() - refusedAt < REFUSED_MS) return false;
    const asking = this.#asking.get(key) ?? this.#begin(key, host, port);
    asking.waiting++;
    gone.addEventListener('abort', () => --asking.waiting === 0 && asking.abort.abort(), {
      once: true,
    });
    const answer = await asking.answer;
    return answer === 'once' || answer === 'session';
  }

  #begin(key: string, host: string, port: number): Asking {
    const abort = new AbortController();
    const asking = { answer: this.#answer(key, host, port, abort.signal), waiting: 0, abort };
    this.#asking.set(key, asking);
    return asking;
  }

  #remember(key: string): void {
    if (this.#refused.size >= MAX_REFUSED) this.#refused.clear();
    this.#refused.set(key, this.#clock.monotonic());
  }

  async #answer(key: string, host: string, port: number, signal: AbortSignal): Promise<HostAnswer> {
    try {
      const answer = await this.#ask(host, port, signal);
      if (answer === 'session') this.#allowed.add(key);
      if (answer === 'no') this.#remember(key);
      return answer;
    } finally {
      this.#asking.delete(key);
    }
  }
}
