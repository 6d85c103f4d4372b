import { once } from 'node:events';
import net from 'node:net';

/** Below the ports that Linux and macOS choose for listeners and connections. */
const [FIRST, LAST] = [20_000, 32_000] as const;

let next = FIRST + ((process.pid * 37) % (LAST - FIRST));

/**
 * A free port for a server that ends and comes back. If the system chooses the port, another server or connection may
 * get the same port in between.
 */
export async function keptPort(): Promise<number> {
  for (;;) {
    const port = next;
    next = port + 1 < LAST ? port + 1 : FIRST;
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = net.createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
