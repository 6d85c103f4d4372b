import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../core/lib/clock.ts';

/** The requests without a complete response, so that the server can stop after the last one. */
export class PendingRequests {
  readonly #clock: Clock;
  readonly #requests = new Set<AbortSignal>();
  readonly #none = new EventTarget();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a request; its signal aborts when it is over. */
  add(request: AbortSignal): void {
    if (request.aborted) return;
    this.#requests.add(request);
    request.addEventListener(
      'abort',
      () => {
        this.#requests.delete(request);
        if (this.#requests.size === 0) this.#none.dispatchEvent(new Event('none'));
      },
      { once: true },
    );
  }

  /** Resolves when no request is left, or after `ms` milliseconds. */
  async over(ms: number): Promise<void> {
    if (this.#requests.size === 0) return;
    using _late = this.#clock.after(ms, () => this.#none.dispatchEvent(new Event('none')));
    await once(this.#none, 'none');
  }
}

/** The reason of each such signal: without one, each would make an error with a stack of its own. */
const OVER = new Error('the request has ended');

/**
 * Returns a signal that aborts once the response was sent completely or the client has disconnected. It has to be
 * created before the first `await` of a request, so that no disconnection is missed.
 */
export function whenOver(response: ServerResponse): AbortSignal {
  const over = new AbortController();
  const { socket } = response.req;
  const end = () => {
    response.off('close', end);
    socket.off('close', end);
    over.abort(OVER);
  };
  if (response.destroyed || socket.destroyed) {
    over.abort(OVER);
    return over.signal;
  }
  // Pipelined requests share a socket, and each adds a listener to it. While a request waits for the responses
  // before its own, its response has no socket and emits no event when the client disconnects.
  socket.setMaxListeners(0);
  response.once('close', end);
  socket.once('close', end);
  return over.signal;
}
