import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { descriptorLimit } from '../../core/lib/descriptor-limit.ts';

/** The number of file descriptors reserved for files and children; at most half of the process's limit. */
const RESERVED_DESCRIPTORS = 512;

/** Returns the maximum number of open connections: the configured one, unless the file descriptors allow fewer. */
export function connectionLimit(configured: number, descriptors = descriptorLimit()): number {
  const reserved = Math.min(RESERVED_DESCRIPTORS, Math.ceil(descriptors / 2));
  return Math.max(1, Math.min(configured, descriptors - reserved));
}

/** The state of a connection: `used` once a whole request arrived, `isBusy` while its response is under way. */
interface Traffic {
  used: boolean;
  isBusy: () => boolean;
}

/**
 * Keeps a server from running out of connections. If more than `limit` are open, it closes the oldest one without a
 * complete request, else the oldest idle keep-alive connection, so that a client which holds connections open without
 * using them does not lock others out. A connection with a response under way, such as a stream, is never closed. A new
 * connection may first send its request, unless one and a half times `limit` are open: then it is closed at once.
 */
export function limitConnections(server: Server, limit: number): void {
  const open = new Map<Socket, Traffic>();
  let isTrimming = false;
  const trim = () => {
    isTrimming = false;
    while (open.size > limit && endOne(open));
  };
  server.on('connection', (socket: Socket) => {
    if (open.size >= limit + Math.ceil(limit / 2)) return void socket.destroy();
    open.set(socket, { used: false, isBusy: () => false });
    socket.once('close', () => open.delete(socket));
    if (open.size <= limit || isTrimming) return;
    isTrimming = true;
    // The data that has arrived by now is read in the next turn of the event loop.
    setImmediate(() => setImmediate(trim));
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const traffic = {
      get used() {
        return request.complete;
      },
      isBusy: () => request.complete && !response.closed,
    };
    // The map is ordered by use, so the connections used last are closed last.
    if (open.delete(socket)) open.set(socket, traffic);
  });
}

/** Closes the least useful connection; returns false if all are busy. */
function endOne(open: Map<Socket, Traffic>): boolean {
  const idle = [...open].filter(([, { isBusy }]) => !isBusy());
  const [socket] = idle.find(([, { used }]) => !used) ?? idle[0] ?? [];
  if (!socket) return false;
  open.delete(socket);
  socket.destroy();
  return true;
}
