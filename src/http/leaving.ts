import type { ServerResponse } from 'node:http';

/**
 * A signal that aborts once nobody waits for the answer any more: it was sent whole, or its client has left. It is
 * made before anything of a request is awaited, so that no later step can miss that the client leaves.
 */
export function whenOver(response: ServerResponse): AbortSignal {
  const over = new AbortController();
  const { socket } = response.req;
  const end = () => {
    response.off('close', end);
    socket.off('close', end);
    over.abort();
  };
  if (response.destroyed || socket.destroyed) {
    over.abort();
    return over.signal;
  }
  // Requests sent in one go share a socket, and have a listener each. While a request waits for the answers before
  // its own, its response has no socket, and is not told when the client leaves.
  socket.setMaxListeners(0);
  response.once('close', end);
  socket.once('close', end);
  return over.signal;
}
