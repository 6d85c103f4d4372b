import type { IncomingMessage } from 'node:http';
import type { Endpoint } from '../../../src/api/endpoint.ts';
import { type Answer, type CallInput, Client } from '../../../src/client/client.ts';
import { AppError } from '../../../src/api/errors.ts';
import type { RequestInput } from '../../../src/client/wire.ts';

/** A client of whichever server serves the directory just now: each start has a port of its own. */
export class RoamingClient extends Client {
  readonly url = 'http://nowhere.invalid';
  #at: Client | null = null;

  /** From now on calls go there; null: nobody answers. */
  moveTo(client: Client | null): void {
    this.#at = client;
  }

  protected override async send(
    endpoint: Endpoint,
    request: RequestInput,
  ): Promise<Answer<unknown>> {
    const { signal, key } = request;
    return this.#now().ask(endpoint, request as CallInput<Endpoint>, signal, key);
  }

  override async open<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    return this.#now().open(endpoint, input, signal);
  }

  #now(): Client {
    if (this.#at) return this.#at;
    throw new AppError('unreachable', 'the server is down');
  }
}
