import type { Server } from 'node:net';
import { systemClock } from '../core/lib/clock.ts';

/** The time between two looks at the parent process, in milliseconds. */
const PARENT_MS = 500;

/**
 * Listens on ports of the loopback interface of a network namespace, and passes the listening sockets to the parent process. A
 * socket belongs to the namespace in which it was created, so the parent accepts connections from inside. Ends when the parent
 * disconnects.
 */
export async function listenInside(ports: readonly number[]): Promise<void> {
  // Loaded here: most commands need no network code.
  const net = process.getBuiltinModule('node:net');
  if (!process.send) return;
  endWithParent();
  for (const port of ports) {
    const server = net.createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    await pass(port, server);
  }
}

/** Passes a socket. The descriptor of this process stays open until the parent has its own. */
function pass(port: number, server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.({ port, pid: process.pid }, server, {}, (error) => {
      server.close();
      if (error) reject(error);
      else resolve();
    });
  });
}

/**
 * Connects to ports of the loopback interface of a network namespace at the request of the parent process, and passes the
 * connected sockets to it. Ends when the parent disconnects.
 */
export function connectInside(): void {
  // Loaded here: most commands need no network code.
  const net = process.getBuiltinModule('node:net');
  endWithParent();
  process.on('message', ({ id, port }: { id: number; port: number }) => {
    const socket = net.connect({ host: 'localhost', port });
    // Its data belongs to the parent.
    socket.pause();
    socket.once('connect', () => process.send?.({ id }, socket));
    socket.once('error', () => process.send?.({ id }));
  });
}

/** Ends this process when the parent process disconnects or is gone. */
function endWithParent(): void {
  process.once('disconnect', () => process.exit());
  // A parent that is killed while it takes a socket may close the channel without this event.
  const { ppid } = process;
  systemClock.every(PARENT_MS, () => {
    if (!process.connected || process.ppid !== ppid) process.exit();
  });
}
