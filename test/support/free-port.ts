import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

/** Resolves with a port that no program of the machine uses. */
export async function freePort(): Promise<number> {
  const server = net.createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
