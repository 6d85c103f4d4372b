import { once } from 'node:events';
import net from 'node:net';
import { expect, it } from 'vitest';
import { downloadUntil } from '../../bench/client/download.ts';
import { load } from '../../bench/client/load.ts';
import { endsTurn, type Frame, Stream } from '../../bench/client/stream.ts';

const OK = 'HTTP/1.1 200 OK\r\n';

/** Runs `use` with a server that answers each request, bytes for bytes, by `answer`. */
async function answering(
  answer: (request: string, socket: net.Socket) => void,
  use: (server: { url: string; token: string }) => Promise<void>,
): Promise<void> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket.setEncoding('utf8'));
    socket.on('data', (request: string) => answer(request, socket));
    socket.once('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  try {
    await use({ url: `http://127.0.0.1:${port}`, token: 'secret' });
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

/** Begins a response that lasts until the connection is closed, and writes it in these parts. */
async function write(socket: net.Socket, parts: readonly string[]): Promise<void> {
  for (const part of [`${OK}\r\n`, ...parts])
    await new Promise((resolve) => socket.write(part, resolve));
}

it('The bench client sends the given number of requests over the given number of connections.', async () => {
  const seen: string[] = [];
  const ports = new Set<number | undefined>();
  const long = 'x'.repeat(100_000);
  const answers = [
    `${OK}Content-Length: ${long.length}\r\n\r\n${long}`,
    `${OK}transfer-encoding: chunked\r\n\r\n186a0\r\n${long}\r\n0\r\n\r\n`,
  ];
  await answering(
    (request, socket) => {
      ports.add(socket.remotePort);
      seen.push(request);
      socket.write(answers[seen.length % 2] ?? '');
    },
    async (server) => {
      const requests = { method: 'POST', path: '/a', body: '{}', clients: 3, count: 20 } as const;
      const { perSecond, p50, p99 } = await load(server, requests);
      expect(perSecond).toBeGreaterThan(0);
      expect(p99).toBeGreaterThanOrEqual(p50);
    },
  );
  expect(seen).toHaveLength(20);
  for (const request of seen) {
    expect(request).toMatch(/^POST \/a HTTP\/1.1\r\n/);
    expect(request).toContain('\r\nauthorization: Bearer secret\r\n');
    expect(request).toMatch(/content-length: 2\r\n\r\n\{\}$/);
  }
  expect(ports.size).toBe(3);
});

it('The bench client fails if a request is refused.', () =>
  answering(
    (_request, socket) => void socket.write('HTTP/1.1 409 Conflict\r\ncontent-length: 2\r\n\r\nno'),
    async (server) => {
      const requests = { method: 'GET', path: '/', clients: 1, count: 1 } as const;
      await expect(load(server, requests)).rejects.toThrow('409');
    },
  ));

it('The bench client reads the events of a stream that arrives in small pieces, and skips pings.', () =>
  answering(
    (_request, socket) => {
      const text =
        'retry: 1000\nid: 7\nevent: turn.started\ndata: {"a":1}\n\n: ping\n: ping\n\nid: 8\nevent: turn.completed\ndata: {"b":2}\n\n';
      void write(socket, text.match(/.{1,5}/gs) ?? []);
    },
    async (server) => {
      const frames: Frame[] = [];
      const stream = await Stream.open(server, '/', (frame) => void frames.push(frame));
      expect(await stream.next(endsTurn)).toMatchObject({ seq: 8, data: '{"b":2}' });
      expect(frames.map(({ seq, kind }) => [seq, kind])).toEqual([
        [7, 'turn.started'],
        [8, 'turn.completed'],
      ]);
      stream.close();
    },
  ));

it('The bench client reports a failed turn instead of waiting for its end.', () =>
  answering(
    (_request, socket) =>
      void write(socket, ['id: 1\nevent: turn.failed\ndata: {"why":"no agent"}\n\n']),
    async (server) => {
      const stream = await Stream.open(server, '/');
      await expect(stream.next(endsTurn)).rejects.toThrow('no agent');
      stream.close();
    },
  ));

it('The bench client finds the end of a download even if it is divided between two parts.', () =>
  answering(
    (_request, socket) => void write(socket, ['x'.repeat(1000), 'id: 1', '2\nmore']),
    async (server) => {
      expect(await downloadUntil(server, '/', 'id: 12\n')).toBeGreaterThanOrEqual(1007);
    },
  ));
