import net from 'node:net';
import { once } from 'node:events';

/** Carries connections to a server, and cuts the first of them off. */
export interface SeveringProxy extends AsyncDisposable {
  url: string;
  /** How many connections it has cut. */
  cuts(): number;
}

/**
 * A proxy on a free port of the loopback. Connection by connection, the answer is cut off after as many bytes as `after`
 * says next, wherever that is: in the headers, within a frame or a character. When it says no more, connections last.
 */
export async function severingProxy(url: string, after: readonly number[]): Promise<SeveringProxy> {
  const target = new URL(url);
  const budgets = [...after];
  const sockets = new Set<net.Socket>();
  let cuts = 0;
  const proxy = net.createServer((client) => {
    const server = net.connect(Number(target.port), target.hostname);
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    let left = budgets.shift() ?? Infinity;
    client.on('data', (bytes) => server.write(bytes));
    server.on('data', (bytes) => {
      const passed = bytes.subarray(0, Math.min(bytes.length, left));
      left -= passed.length;
      if (left > 0) return void client.write(passed);
      cuts++;
      server.destroy();
      client.end(passed);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as net.AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    cuts: () => cuts,
    async [Symbol.asyncDispose]() {
      proxy.close();
      for (const socket of sockets) socket.destroy();
      await once(proxy, 'close');
    },
  };
}
