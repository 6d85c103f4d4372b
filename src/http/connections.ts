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

/** What is under way on a connection. */
interface Traffic {
  request: IncomingMessage | null;
}

/**
 * Keeps a server from running out of connections. Where one more than `limit` comes, the oldest that the server waits
 * for is ended: one that says nothing, one that is kept for later, or one whose request has not arrived as a whole. So
 * whoever holds connections open without using them keeps nobody else out. Where each has an answer under way, the new
 * one is ended.
 */
export function limitConnections(server: Server, limit: number): void {
  const open = new Map<Socket, Traffic>();
  server.on('connection', (socket: Socket) => {
    if (open.size >= limit) endOne(open, socket);
    if (socket.destroyed) return;
    open.set(socket, { request: null });
    socket.once('close', () => open.delete(socket));
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (!open.has(socket)) return;
    // Those that were used last are the last to be ended.
    open.delete(socket);
    open.set(socket, { request });
    response.once('close', () => {
      if (open.get(socket)?.request === request) open.set(socket, { request: null });
    });
  });
}

function endOne(open: Map<Socket, Traffic>, newest: Socket): void {
  for (const [socket, { request }] of open) {
    if (request?.complete) continue;
    open.delete(socket);
    socket.destroy();
    return;
  }
  newest.destroy();
}
