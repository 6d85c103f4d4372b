import type { ServerResponse } from 'node:http';

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
