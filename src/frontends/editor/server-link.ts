import type { Endpoint, ResponseOf } from '../../api/endpoint.ts';
import type { RuntimeEventRecord } from '../../api/events.ts';
import type { Answer, CallInput, Client } from '../../client/client.ts';
import { streamEvents } from '../../client/stream.ts';
import { isUnreachable } from '../../api/errors.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { newUuid } from '../../core/lib/ids.ts';

/** The pause before a server that does not answer is tried again: it starts here and doubles up to the maximum. */
const RETRY_MS = 100;
const MAX_RETRY_MS = 2000;

/**
 * The way to the server. A server that was started again may have another address, so after a lost connection it is
 * looked for again.
 */
export class ServerLink {
  readonly #connect: (mayStart: boolean) => Promise<Client>;
  readonly #clock: Clock;
  #client: Client | null = null;

  /**
   * `connect`: a client of the server as it runs now; with `mayStart`, one may be started. Throws an AppError that says what
   * to do where none is found.
   */
  constructor(connect: (mayStart: boolean) => Promise<Client>, clock: Clock) {
    this.#connect = connect;
    this.#clock = clock;
  }

  /** Calls an endpoint, as {@link ask}. */
  async call<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    patienceMs = 0,
  ): Promise<ResponseOf<E>> {
    return (await this.ask(endpoint, input, patienceMs)).value;
  }

  /**
   * Calls an endpoint, once more if the connection was lost, and then again until `patienceMs` are over. Each request
   * has its own key, so its effect occurs once. Throws refusals, and `unreachable`.
   */
  async ask<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    patienceMs = 0,
  ): Promise<Answer<ResponseOf<E>>> {
    const key = endpoint.method === 'POST' ? newUuid() : undefined;
    return this.use((client) => client.ask(endpoint, input, undefined, key), patienceMs);
  }

  /** Does what may be done twice, with a client, as {@link ask}. */
  async use<T>(work: (client: Client) => Promise<T>, patienceMs = 0): Promise<T> {
    const until = this.#clock.monotonic() + patienceMs;
    for (let tries = 0; ; tries++) {
      const client = await this.#found(until, true);
      try {
        return await work(client);
      } catch (error) {
        if (!isUnreachable(error)) throw error;
        this.#drop(client);
        if (tries > 0 && this.#clock.monotonic() >= until) throw error;
        if (tries > 0) await this.#clock.sleep(RETRY_MS);
      }
    }
  }

  /**
   * Yields the events of a session after a seq, in order, each once. Reports a lost connection and its return. Ends
   * when `signal` aborts. Throws refusals of the server.
   */
  async *events(options: {
    sessionId: string;
    after: number;
    signal: AbortSignal;
    onLost: () => void;
    onBack: () => void;
  }): AsyncGenerator<RuntimeEventRecord, void> {
    const { sessionId, signal, onLost, onBack } = options;
    let { after } = options;
    let isLost = false;
    let retry = RETRY_MS;
    while (!signal.aborted) {
      const client = await this.#now();
      try {
        const stream =
          client && streamEvents({ client, clock: this.#clock, sessionId, after, signal, onOpen });
        for await (const event of stream ?? []) {
          after = event.seq;
          yield event;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!isUnreachable(error)) throw error;
      }
      if (signal.aborted) return;
      if (client) this.#drop(client);
      if (!isLost) onLost();
      isLost = true;
      await this.#clock.sleep(retry, signal).catch(() => undefined);
      retry = Math.min(retry * 2, MAX_RETRY_MS);
    }

    function onOpen() {
      retry = RETRY_MS;
      if (isLost) onBack();
      isLost = false;
    }
  }

  close(): void {
    this.#client?.close();
    this.#client = null;
  }

  /** The client. If the server is unreachable, tries again until a moment. */
  async #found(until: number, mayStart: boolean): Promise<Client> {
    for (;;) {
      try {
        return (this.#client ??= await this.#connect(mayStart));
      } catch (error) {
        if (!isUnreachable(error) || this.#clock.monotonic() >= until) throw error;
        await this.#clock.sleep(RETRY_MS);
      }
    }
  }

  /** The client; null where no server runs just now. */
  async #now(): Promise<Client | null> {
    try {
      // Only a request starts a server: whoever stopped the last one did not stop it for a stream.
      return await this.#found(0, false);
    } catch (error) {
      if (isUnreachable(error)) return null;
      throw error;
    }
  }

  #drop(client: Client): void {
    client.close();
    if (this.#client === client) this.#client = null;
  }
}
