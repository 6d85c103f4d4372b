import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import type { Client } from '../../../src/client/client.ts';
import { streamEvents } from '../../../src/client/stream.ts';
import { type Clock, systemClock } from '../../../src/core/lib/clock.ts';
import type { Violations } from './checks.ts';

/** Reconnects at once: a campaign has no time for the pauses that spare a real server. */
const eager: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 25), signal),
};

/** Follows a scope from its first event on, through every death of the server, as one reading. */
export class Reader {
  readonly name: string;
  readonly sessionId: string | undefined;
  /** Connections that were lost. */
  losses = 0;
  /** Events it was shown. */
  count = 0;
  readonly #stop = new AbortController();
  readonly #onEvent: (event: RuntimeEventRecord) => void;
  readonly #violations: Violations = [];
  readonly #done: Promise<void>;
  #window: RuntimeEventRecord[] = [];
  #last = 0;
  #waiting: { seq: number; resolve: () => void }[] = [];

  constructor(given: {
    client: Client;
    sessionId?: string | undefined;
    name: string;
    onEvent: (event: RuntimeEventRecord) => void;
  }) {
    this.name = given.name;
    this.sessionId = given.sessionId;
    this.#onEvent = given.onEvent;
    this.#done = this.#read(given.client);
  }

  /** The seq of the last event it was shown. */
  get last(): number {
    return this.#last;
  }

  /** Resolves once it has been shown `seq`; also when it fell over, which it reports. */
  until(seq: number): Promise<void> {
    if (this.#last >= seq || this.#violations.length > 0) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.push({ seq, resolve }));
  }

  /** Takes out what it was shown up to `seq`; the rest is for the next time. */
  take(upTo: number): { events: RuntimeEventRecord[]; violations: Violations } {
    const at = this.#window.findIndex(({ seq }) => seq > upTo);
    const events = this.#window.splice(0, at < 0 ? this.#window.length : at);
    return { events, violations: this.#violations.splice(0) };
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #read(client: Client): Promise<void> {
    try {
      const events = streamEvents({
        client,
        clock: eager,
        sessionId: this.sessionId,
        signal: this.#stop.signal,
        onConnection: ({ lost }) => {
          if (lost) this.losses++;
        },
      });
      for await (const event of events) this.#take(event);
    } catch (error) {
      this.#violations.push(`${this.name}: its stream failed: ${String(error)}`);
      this.#wake();
    }
  }

  #take(event: RuntimeEventRecord): void {
    if (event.seq <= this.#last) {
      this.#violations.push(`${this.name}: was shown seq ${event.seq} after seq ${this.#last}`);
    }
    if (this.sessionId !== undefined && event.session_id !== this.sessionId) {
      this.#violations.push(
        `${this.name}: was shown seq ${event.seq} of ${event.session_id ?? 'no session'}`,
      );
    }
    this.count++;
    this.#last = Math.max(this.#last, event.seq);
    this.#window.push(event);
    this.#wake();
    this.#onEvent(event);
  }

  #wake(): void {
    const due = this.#waiting.filter(({ seq }) => seq <= this.#last || this.#violations.length > 0);
    if (due.length === 0) return;
    this.#waiting = this.#waiting.filter((waiter) => !due.includes(waiter));
    for (const { resolve } of due) resolve();
  }
}
