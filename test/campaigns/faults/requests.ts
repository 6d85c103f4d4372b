import { setTimeout as pause } from 'node:timers/promises';
import type { Endpoint, ResponseOf } from '../../../src/api/endpoint.ts';
import { AppError, type ErrorCode } from '../../../src/api/errors.ts';
import type { CallInput } from '../../../src/client/client.ts';
import { scaled } from '../../support/patience.ts';
import type { TestServer } from '../../support/server.ts';
import type { Violations } from '../crash/checks.ts';
import type { Conditions } from './conditions.ts';

/** A request may fail this long before the server is seen to be dead. */
const DEATH_NOTICE_MS = 5000;
/** A refusal that the same request may get a moment later no longer. */
const RETRY_MS = 50;

/** The campaign has ended, so a request gets no response. */
export class CampaignOver extends Error {}

/**
 * Sends the requests of all activities. A request that a death of the server cuts off is sent to the next server with the
 * same key, so it takes effect once. A request that a bad condition refuses is sent again when the condition has ended.
 */
export class Requests {
  readonly violations: Violations = [];
  /** Refused requests, by condition and error code. */
  readonly refused: Record<string, number> = {};
  /** Requests that were sent again because the server died. */
  repeated = 0;
  /** Requests with a successful response. */
  acknowledged = 0;
  readonly #conditions: Conditions;
  readonly #prefix: string;
  #keys = 0;
  #server: TestServer | null = null;
  #arrival = Promise.withResolvers<void>();
  #isOver = false;

  constructor(conditions: Conditions, prefix: string) {
    this.#conditions = conditions;
    this.#prefix = prefix;
  }

  /** From here on requests go to this server; null: they wait. */
  moveTo(server: TestServer | null): void {
    this.#server = server;
    if (!server) return;
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
  }

  /** Ends all requests with {@link CampaignOver}. */
  end(): void {
    this.#isOver = true;
    this.#arrival.reject(new CampaignOver());
    this.#arrival.promise.catch(() => undefined);
  }

  /** Resolves with the response of a server, however many servers die before. Throws a refusal with an expected code. */
  async call<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    expected: readonly ErrorCode[] = [],
  ): Promise<ResponseOf<E>> {
    let key = this.#newKey(endpoint);
    for (let silences = 0; ;) {
      const server = await this.#current();
      const sentAt = performance.now();
      try {
        const value = await server.client.call(endpoint, input, undefined, key);
        if (key !== undefined) this.acknowledged++;
        return value;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (error.code === 'unreachable') {
          silences = await this.#explainSilence(server, error, sentAt, silences);
          this.repeated++;
          continue;
        }
        const condition = this.#conditions.explains(error, sentAt);
        if (condition === undefined && expected.includes(error.code)) throw error;
        if (condition === undefined) {
          const { method, path } = endpoint;
          this.violations.push(`${method} ${path} was refused: ${error.code}: ${error.message}`);
          throw error;
        }
        const what = `${condition}: ${error.code}`;
        this.refused[what] = (this.refused[what] ?? 0) + 1;
        if (condition !== 'stop in order')
          await Promise.race([this.#conditions.over(), pause(1000)]);
        await pause(RETRY_MS);
        // The server has changed nothing, so this is a new request.
        key = this.#newKey(endpoint);
      }
    }
  }

  #newKey({ method }: Endpoint): string | undefined {
    return method === 'GET' ? undefined : `${this.#prefix}-${++this.#keys}`;
  }

  async #current(): Promise<TestServer> {
    for (;;) {
      if (this.#isOver) throw new CampaignOver();
      if (this.#server) return this.#server;
      await this.#arrival.promise;
    }
  }

  /** Waits for the death of the server. A living server closes an idle connection at most once. Returns the new count. */
  async #explainSilence(
    server: TestServer,
    error: AppError,
    sentAt: number,
    silences: number,
  ): Promise<number> {
    if (this.#conditions.since(sentAt).length > 0) {
      await pause(RETRY_MS);
      if (this.#server !== server) await this.#current();
      return 0;
    }
    const isClosed = (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNRESET';
    if (isClosed && silences === 0 && this.#server === server) return 1;
    const died = server.exited.then(() => true);
    if (await Promise.race([died, pause(scaled(DEATH_NOTICE_MS), false)])) {
      if (this.#server === server) this.moveTo(null);
    } else
      this.violations.push(
        `a living server gave no response: ${(error.cause as Error | undefined)?.message ?? error.message}`,
      );
    return 0;
  }
}
