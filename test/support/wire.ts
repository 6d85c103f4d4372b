import { once } from 'node:events';
import net from 'node:net';

/** Stands between a client and a server, and cuts. */
export interface Wire extends AsyncDisposable {
  url: string;
  /** How many connections there were. */
  connections: () => number;
  /** Cuts every connection that stands, now. */
  cut: () => void;
  /** Cuts each new connection after so many bytes from the server; null: none. */
  cutAfter: (bytes: number | null) => void;
  /** Refuses new connections, or takes them again. */
  refuse: (refuses: boolean) => void;
}

/** A way to a server that a test can cut. */
export async function wireTo(url: string): Promise<Wire> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<net.Socket>();
  let count = 0;
  let limit: number | null = null;
  let refuses = false;
  const server = net.createServer((near) => {
    if (refuses) return void near.destroy();
    count++;
    const far = net.connect({ host: hostname, port: Number(port) });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    let left = limit ?? Infinity;
    far.on('data', (data) => {
      near.write(data.subarray(0, left));
      left -= data.length;
      if (left <= 0) near.destroySoon();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    connections: () => count,
    cut,
    cutAfter: (bytes) => (limit = bytes),
    refuse: (wanted) => (refuses = wanted),
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
