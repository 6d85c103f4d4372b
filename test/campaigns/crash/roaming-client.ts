import type { IncomingMessage } from 'node:http';
import type { Endpoint } from '../../../src/api/endpoint.ts';
import { type CallInput, type Client, HttpClient } from '../../../src/client/client.ts';
import { AppError } from '../../../src/api/errors.ts';

/** A client of whichever server serves the directory just now: each start has a port of its own. */
export class RoamingClient extends HttpClient {
  #at: Client | null = null;

  constructor() {
    super({ url: 'http://nowhere.invalid', token: '' });
  }

  /** From now on calls go there; null: nobody answers. */
  moveTo(client: Client | null): void {
    this.#at = client;
  }

  override open<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    body?: string,
    more?: { headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<IncomingMessage> {
    if (this.#at) return this.#at.open(endpoint, input, body, more);
    return Promise.reject(new AppError('unreachable', 'the server is down'));
  }
}
