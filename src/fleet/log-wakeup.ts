import type { NatsConnection, QueuedIterator, Status, Subscription } from '@nats-io/transport-node';
import type { Clock } from '../core/lib/clock.ts';

interface LogWakeupParts {
  connection: NatsConnection;
  clock: Clock;
  /** The subject on which NATS announces the events. */
  subject: string;
  /** The number of the last message that was announced before. */
  floor?: number;
  /**
   * Called when the stream may be another one: whatever happens to a stream happens while the connection is gone, or
   * shows by numbers that go back.
   */
  onDoubt?: () => void;
}

/** Listens to the announcements of NATS, one for each stored event. */
export class LogWakeup implements Disposable {
  /** The number of the newest announced message in the stream. 0 if there is none. */
  newest = 0;
  readonly #clock: Clock;
  readonly #subscription: Subscription;
  readonly #status: QueuedIterator<Status>;
  #hasCome = false;
  #wake: () => void = () => undefined;

  constructor(parts: LogWakeupParts) {
    const { connection, clock, subject, floor = 0, onDoubt = () => undefined } = parts;
    this.#clock = clock;
    this.#subscription = connection.subscribe(subject, {
      callback: (error, message) => {
        const seq = Number(message?.headers?.get('Nats-Sequence'));
        if (error || !(seq > Math.max(floor, this.newest))) onDoubt();
        this.newest = seq;
        this.#hasCome = true;
        this.#wake();
      },
    });
    // Its type does not say that it can be stopped.
    const status = connection.status() as QueuedIterator<Status>;
    this.#status = status;
    void (async () => {
      for await (const { type } of status) if (type === 'reconnect') onDoubt();
    })();
  }

  /** Resolves `pause` ms after something has come, at the latest after `within` ms, or when the signal aborts. */
  async more(within: number, pause: number, signal: AbortSignal | undefined): Promise<void> {
    const come = new AbortController();
    this.#wake = () => come.abort();
    if (this.#hasCome) come.abort();
    const either = signal ? AbortSignal.any([signal, come.signal]) : come.signal;
    await this.#clock.sleep(within, either).catch(() => undefined);
    if (come.signal.aborted) await this.#clock.sleep(pause, signal).catch(() => undefined);
    this.#hasCome = false;
  }

  [Symbol.dispose](): void {
    this.#subscription.unsubscribe();
    this.#status.stop();
  }
}
