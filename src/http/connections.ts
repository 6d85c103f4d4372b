import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { readSmallFile } from '../lib/foreign-file.ts';

/** The server keeps at least so many file descriptors for its files and children, or half of what it may have. */
const RESERVED_DESCRIPTORS = 512;

/** So many connections may be open: as many as configured, and as leave descriptors for everything else. */
export function connectionLimit(configured: number, descriptors = descriptorLimit()): number {
  const reserved = Math.min(RESERVED_DESCRIPTORS, Math.ceil(descriptors / 2));
  return Math.max(1, Math.min(configured, descriptors - reserved));
}

/** How many file descriptors this process may have. Node has raised its soft limit to the hard one. */
function descriptorLimit(): number {
  try {
    const { text } = readSmallFile('/proc/self/limits', { maxBytes: 64 * 1024 });
    return Number(/^Max open files\s+(\d+)/m.exec(text)?.[1] ?? Number.MAX_SAFE_INTEGER);
  } catch {
    return Number.MAX_SAFE_INTEGER;
  }
}

/** What a connection is at: `used` once a whole request came, with its answer under way as long as `isBusy`. */
interface Traffic {
  used: boolean;
  isBusy: () => boolean;
}

/**
 * Keeps a server from running out of connections. Where more than `limit` are open, the oldest of which nothing whole
 * has come is ended, else the oldest that is kept for later: so whoever holds connections open without using them keeps
 * nobody else out. One with an answer under way, as a stream, is never ended. A new one is first given the chance to
 * say what it wants, unless so many come at once that descriptors run short: half as many again, then each is ended.
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
    // What has arrived by now is read in the next turn of the event loop.
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
    // Those that were used last are the last to be ended.
    if (open.delete(socket)) open.set(socket, traffic);
  });
}

/** Ends the one that is missed least; false where all are at work. */
function endOne(open: Map<Socket, Traffic>): boolean {
  const idle = [...open].filter(([, { isBusy }]) => !isBusy());
  const [socket] = idle.find(([, { used }]) => !used) ?? idle[0] ?? [];
  if (!socket) return false;
  open.delete(socket);
  socket.destroy();
  return true;
}
