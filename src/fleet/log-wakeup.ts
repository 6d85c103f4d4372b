import type { NatsConnection, QueuedIterator, Status, Subscription } from '@nats-io/transport-node';
import type { Clock } from '../core/lib/clock.ts';

interface LogWakeupParts {
  connection: NatsConnection;
  clock: Clock;
  /** Where the engine tells of the events that are meant. */
  subject: string;
  /** What it had told of before, by its number in the stream. */
  floor?: number;
  /**
   * Called when the stream may be another one: whatever happens to a stream happens while the connection is gone, or
   * shows by numbers that go back.
   */
  onDoubt?: () => void;
}

/** Listens to the engine, which tells of each event that it has stored. */
export class LogWakeup implements Disposable {
  /** The newest message that was told of, by its number in the stream; 0: none yet. */
  newest = 0;
  readonly #clock: Clock;
  readonly #subscription: Subscription;
  readonly #status: QueuedIterator<Status>;
  #hasCome = false;
  #wake: () => void = () => undefined;

  constructor({
    connection,
    clock,
    subject,
    floor = 0,
    onDoubt = () => undefined,
  }: LogWakeupParts) {
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
