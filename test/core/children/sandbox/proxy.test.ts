import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import os from 'node:os';
import { text } from 'node:stream/consumers';
import { describe, expect, test, vi } from 'vitest';
import {
  type RefusedHost,
  SandboxProxy,
} from '../../../../src/core/children/sandbox/network/proxy.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import type { Reach } from '../../../../src/core/lib/host-lists.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';

interface Harness {
  /** Sends bytes to the proxy, and resolves with all that it answers. */
  send: (bytes: string) => Promise<string>;
  /** The port of a server that answers each connection with `answer`. */
  port: number;
  asked: string[];
  refused: RefusedHost[];
}

async function withHarness(
  {
    reach,
    ownPort,
    answer = 'hello',
  }: { reach: Reach | null; ownPort?: (port: number) => number; answer?: string },
  run: (harness: Harness) => Promise<void>,
): Promise<void> {
  const target = net.createServer((socket) => socket.end(answer));
  const entrance = net.createServer((socket) => proxy.accept(socket));
  for (const one of [target, entrance]) await once(one.listen(0, '127.0.0.1'), 'listening');
  const { port } = target.address() as AddressInfo;
  const asked: string[] = [];
  const refused: RefusedHost[] = [];
  const proxy = new SandboxProxy({
    reachOf: async (host, number) => {
      asked.push(`${host}:${number}`);
      return reach;
    },
    onRefused: (one) => refused.push(one),
    clock: systemClock,
    ownPort: () => ownPort?.(port) ?? 0,
  });
  try {
    await run({
      port,
      asked,
      refused,
      async send(bytes) {
        const socket = net.connect((entrance.address() as AddressInfo).port, '127.0.0.1');
        socket.write(bytes);
        return text(socket);
      },
    });
  } finally {
    target.close();
    entrance.close();
  }
}

const shared = { mac: '02:00:00:00:00:01', internal: false };
/** The interfaces of a machine with public addresses. */
const interfaces: ReturnType<typeof os.networkInterfaces> = {
  eth0: [
    { ...shared, address: '203.0.113.5', netmask: '255.255.255.0', family: 'IPv4', cidr: null },
    { ...shared, address: '2001:db8::5', netmask: '64', family: 'IPv6', cidr: null, scopeid: 0 },
  ],
};
const tunnel = (target: string) => `CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;
const get = (url: string) => `GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;

describe('the proxy of a sandbox', () => {
  test('A tunnel to an allowed address passes the bytes of both sides.', () =>
    withHarness({ reach: 'any' }, async ({ send, port }) => {
      expect(await send(tunnel(`127.0.0.1:${port}`))).toBe(
        'HTTP/1.1 200 Connection established\r\n\r\nhello',
      );
    }));

  test('A host that is not allowed is refused in a tunnel and in a request.', () =>
    withHarness({ reach: null }, async ({ send, asked, refused }) => {
      expect(await send(tunnel('Example.COM.:443'))).toMatch(/^HTTP\/1.1 403 .*example.com:443/s);
      expect(await send(get('http://example.com/'))).toMatch(/^HTTP\/1.1 403 .*example.com:80/s);
      expect(asked).toEqual(['example.com:443', 'example.com:80']);
      expect(refused.map(({ host, port, reason }) => [host, port, reason])).toEqual([
        ['example.com', 443, 'not_allowed'],
        ['example.com', 80, 'not_allowed'],
      ]);
    }));

  const inner = [
    '127.0.0.1',
    '127.1.2.3',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    'localhost',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '[fd00::1]',
    '[fe80::1]',
    '169.254.169.254',
    '0.0.0.0',
    '[::]',
    '224.0.0.1',
  ];
  test.for(inner)('A public host must not have the address %s.', (host) =>
    withHarness({ reach: 'public' }, async ({ send, port }) => {
      expect(await send(tunnel(`${host}:${port}`))).toMatch(/^HTTP\/1.1 403 /);
      expect(await send(get(`http://${host}:${port}/`))).toMatch(/^HTTP\/1.1 403 /);
    }),
  );

  test('A public host must not have an address of this machine, however the address is written.', () =>
    withHarness({ reach: 'public' }, async ({ send, port }) => {
      using _interfaces = vi.spyOn(os, 'networkInterfaces').mockReturnValue(interfaces);
      const own = ['203.0.113.5', '[::ffff:203.0.113.5]', '[::ffff:cb00:7105]'];
      for (const host of [...own, '[2001:db8::5]', '[2001:db8:0:0:0:0:0:5]'])
        expect(await send(tunnel(`${host}:${port}`))).toMatch(/^HTTP\/1.1 403 /);
    }));

  test('No entry allows the server itself, nor addresses with secrets of clouds.', () =>
    withHarness({ reach: 'any', ownPort: (port) => port }, async ({ send, port }) => {
      for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '169.254.169.254'])
        expect(await send(tunnel(`${host}:${port}`))).toMatch(/^HTTP\/1.1 403 /);
    }));

  test('The proxy refuses requests that are not for a proxy.', () =>
    withHarness({ reach: 'any' }, async ({ send, asked }) => {
      for (const request of [get('*'), get('ftp://a/'), tunnel('a'), tunnel(':80'), tunnel('a:b')])
        expect(await send(request)).toMatch(/^HTTP\/1.1 400 /);
      expect(asked).toEqual([]);
    }));

  test('A host that answers a request with an upgrade, or not with HTTP, is a bad gateway.', async () => {
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
    for (const answer of [upgrade, 'hello', ''])
      await withHarness({ reach: 'any', answer }, async ({ send, port }) => {
        expect(await send(get(`http://127.0.0.1:${port}/`))).toMatch(/^HTTP\/1.1 502 /);
      });
  });

  test('A connection with many requests gets a response to each, and keeps nothing of them.', async () => {
    using warned = vi.spyOn(process, 'emitWarning');
    const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok';
    await withHarness({ reach: 'any', answer }, async ({ send, port }) => {
      const one = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`;
      const answered = await send(one.repeat(15) + get(`http://127.0.0.1:${port}/`));
      expect(answered.match(/HTTP\/1.1 200 /g)).toHaveLength(16);
    });
    expect(warned).not.toHaveBeenCalled();
  });

  test('A host that never answers is left when the program has closed its connection.', async () => {
    const reached = Promise.withResolvers<net.Socket>();
    const silent = net.createServer((socket) => {
      socket.once('data', () => reached.resolve(socket)).on('error', () => undefined);
    });
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const { port } = silent.address() as AddressInfo;
    const proxy = new SandboxProxy({
      reachOf: async () => 'any',
      onRefused: () => undefined,
      clock: systemClock,
      ownPort: () => 0,
    });
    const entrance = net.createServer((socket) => proxy.accept(socket));
    await once(entrance.listen(0, '127.0.0.1'), 'listening');
    const program = net.connect((entrance.address() as AddressInfo).port, '127.0.0.1');
    program.write(get(`http://127.0.0.1:${port}/`));
    const host = await reached.promise;
    program.destroy();
    await expectEventually(() => host.destroyed).toBe(true);
    for (const one of [silent, entrance]) one.close();
  });

  test('A host that cannot be reached is a bad gateway.', () =>
    withHarness({ reach: 'any' }, async ({ send }) => {
      expect(await send(tunnel('example.invalid:80'))).toMatch(/^HTTP\/1.1 502 /);
      expect(await send(tunnel('127.0.0.1:1'))).toMatch(/^HTTP\/1.1 502 .*ECONNREFUSED/s);
    }));
});
