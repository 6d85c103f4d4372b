import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { freePort } from '../../../support/free-port.ts';
import { kill, ranTo, printed, run, stdout } from '../../../support/processes/work.ts';
import { type TestRuntime, withRuntime } from '../../../support/runtime.ts';
import { hasSandbox, required } from '../../../support/sandbox/available.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { openSession } from '../../../support/turns.ts';

interface Harness extends TestRuntime {
  /** The port of a server of the machine, which answers with the method, the host and the path of a request. */
  port: number;
  /** Runs a command in a session; resolves with its output. */
  say: (command: string, sessionId?: string) => Promise<string>;
  session: string;
  root: string;
}

/** Runs a test with a session whose processes reach the returned hosts. */
async function withHarness(
  hosts: (port: number) => string[],
  test: (harness: Harness) => Promise<void>,
  network = 'hosts',
): Promise<void> {
  await using directory = tempDirectory('root');
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method, headers, url } = request;
      const text = `${method} ${headers.host} ${url} ${Buffer.concat(parts).toString()}\n`;
      // Not by the response, because the answers of cadre are recorded there.
      response.socket?.end(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${text}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await withRuntime(
      async (runtime) => {
        const root = directory.path;
        const { id } = await openSession(runtime.client, root);
        await test({
          ...runtime,
          port,
          root,
          session: id,
          async say(command, session_id = id) {
            const over = await ranTo(runtime, `{ ${command}; } 2>&1`, { session_id });
            return stdout(runtime, over);
          },
        });
      },
      {
        providers: [scriptedProvider()],
        config: required({
          network,
          hosts: hosts(port),
          read: [path.dirname(process.execPath)],
        }),
      },
    );
  } finally {
    server.close();
  }
}

/** Returns the command of a server that prints when it listens. */
function listens(port: number): string {
  const script = `require('http').createServer((q, s) => s.end('served')).listen(${port}, '127.0.0.1', () => console.log('listens'))`;
  return `"${process.execPath}" -e "${script}"`;
}

const noHosts = (): string[] => [];
const thisHost = (port: number) => [`localhost:${port}`];

describe.skipIf(!hasSandbox)('a sandbox with a list of hosts', () => {
  test('A process reaches a listed host by a request of the proxy and by a tunnel, and a listed port of the machine also directly.', () =>
    withHarness(thisHost, async ({ say, port }) => {
      const url = `http://localhost:${port}`;
      const said = (request: string) => `${request}\n`.replace('HOST', `localhost:${port}`);
      expect(await say(`curl -sS ${url}/a`)).toBe(said('GET HOST /a '));
      expect(await say(`curl -sS --noproxy '' ${url}/b`)).toBe(said('GET HOST /b '));
      expect(await say(`curl -sSp --noproxy '' ${url}/c`)).toBe(said('GET HOST /c '));
      expect(await say(`curl -sS --noproxy '' -d body ${url}/d`)).toBe(said('POST HOST /d body'));
    }));

  test('A host that is not listed is refused, and the refusal names the key.', () =>
    withHarness(noHosts, async ({ say, port }) => {
      expect(await say('curl -sS http://example.invalid/')).toBe(
        'cadre: the sandbox does not reach example.invalid:80: add the host to sandbox.hosts\n',
      );
      expect(await say('curl -sS https://example.invalid/')).toMatch(/403/);
      expect(await say(`curl -sS http://127.0.0.1:${port}/ --noproxy ''`)).toMatch(
        /does not reach/,
      );
      expect(await say(`curl -sS http://127.0.0.1:${port}/`)).toMatch(/Failed to connect/);
    }));

  test('A session has one event for each refused host, which gives the reason.', () =>
    withHarness(
      () => ['localhost'],
      async ({ say, session, client }) => {
        for (let round = 0; round < 3; round++) await say('curl -sS http://example.invalid/');
        await say('curl -sS http://example.invalid:8080/; curl -sS --noproxy "" http://localhost/');
        const params = { session_id: session };
        const query = { kind: ['sandbox.*'] };
        const refused = async () =>
          (await client.call(endpoints.replaySessionEvents, { params, query })).map(
            (one) => one.payload,
          );
        await expectEventually(refused).toMatchObject([
          { host: 'example.invalid', port: 80, reason: 'not_allowed' },
          { host: 'example.invalid', port: 8080, reason: 'not_allowed' },
          { host: 'localhost', port: 80, reason: 'private_address' },
        ]);
        expect((await refused())[0]).toHaveProperty(
          'message',
          'the sandbox does not reach example.invalid:80: add the host to sandbox.hosts',
        );
      },
    ));

  test('A listed name that resolves to an address of the machine is refused without a port in the list.', () =>
    withHarness(
      () => ['localhost', '*'],
      async ({ say }) => {
        const refusal = await say('curl -sS http://localhost/ --noproxy ""');
        expect(refusal).toMatch(/is an address of this machine.*add "localhost:80"/);
        expect(await say('curl -sS http://169.254.169.254/')).toMatch(/does not reach/);
        expect(await say('curl -sS http://[::ffff:127.0.0.1]/')).toMatch(/does not reach/);
      },
    ));

  test('A sandbox reaches only the tools and the health check of the server, also with the admin token.', () =>
    withHarness(noHosts, async ({ say, url, token }) => {
      const { port } = new URL(url);
      const asAdmin = `curl -sS --path-as-is -H 'Authorization: Bearer ${token}'`;
      const at = `http://127.0.0.1:${port}`;
      expect(await say(`curl -sS ${at}/health`)).toContain('"status"');
      expect(await say(`curl -sS ${at}/v1/mcp/capabilities`)).toMatch(/bearer token/);
      expect(await say(`${asAdmin} ${at}/v1/mcp/capabilities`)).toContain('namespaces');
      expect(await say(`${asAdmin} ${at}/v1/sessions`)).toMatch(/reaches only the tools/);
      expect(await say(`${asAdmin} ${at}/v1/mcp/../sessions`)).toMatch(/error/);
      const through = await say(`${asAdmin} --noproxy '' ${at}/v1/sessions`);
      expect(through).toMatch(/the sandbox does not reach/);
    }));

  test('Processes of a session reach each other, and no process of another session or of the machine.', () =>
    withHarness(noHosts, async (harness) => {
      const { say, session, client, root } = harness;
      const server = await run(harness, listens(20_000), { session_id: session });
      await printed(harness, server, 'listens');
      expect(await say('curl -sS http://127.0.0.1:20000/')).toBe('served');
      const other = await openSession(client, root);
      expect(await say('curl -sS http://127.0.0.1:20000/', other.id)).toMatch(/Failed to connect/);
      await expect(fetch('http://127.0.0.1:20000/')).rejects.toThrow('fetch failed');
      await kill(harness, server);
    }));

  test('A wait for a port finds a port inside the sandbox, and not the same port of the machine.', async () => {
    for (const network of ['hosts', 'none'])
      await withHarness(
        noHosts,
        async (harness) => {
          const { session, client, port } = harness;
          const open = (process_id: string, number: number, timeout_ms: number) =>
            client.call(endpoints.waitForProcess, {
              params: { process_id },
              query: { for: `port:${number}`, timeout_ms },
            });
          const server = await run(harness, listens(20_001), { session_id: session });
          expect((await open(server.process_id, 20_001, 60_000)).matched).toBe(true);
          expect((await open(server.process_id, port, 0)).matched).toBe(false);
          await kill(harness, server);
        },
        network,
      );
  });

  test('A published port is reachable on the machine until its process ends, and only there.', () =>
    withHarness(noHosts, async (harness) => {
      const { session, client } = harness;
      const port = await freePort();
      const create = (command: string, ports: number[]) =>
        client.call(endpoints.createProcess, { body: { command, session_id: session, ports } });
      const { process: server } = await create(listens(port), [port]);
      expect(server.ports).toEqual([port]);
      await printed(harness, server, 'listens');
      const served = () => fetch(`http://127.0.0.1:${port}/`).then((answer) => answer.text());
      expect(await served()).toBe('served');
      const all = await Promise.all(Array.from({ length: 50 }, served));
      expect(all).toEqual(Array.from({ length: 50 }, () => 'served'));
      const addresses = Object.values(os.networkInterfaces()).flat();
      const other = addresses.find((one) => one?.internal === false && one.family === 'IPv4');
      if (other) await expect(fetch(`http://${other.address}:${port}/`)).rejects.toThrow('fetch');
      // A process that was restarted publishes the port before the old one has ended.
      const params = { process_id: server.process_id };
      const { process: next } = await client.call(endpoints.restartProcess, { params, body: {} });
      await printed(harness, next, 'listens');
      expect(await served()).toBe('served');
      await kill(harness, next);
      await expect(served()).rejects.toThrow('fetch failed');
      const { process: silent } = await create('sleep 60', [port]);
      await expect(served()).rejects.toThrow('fetch failed');
      await kill(harness, silent);
    }));

  test('A port that the machine uses cannot be published, and a sandbox without a network publishes none.', async () => {
    await withHarness(noHosts, async ({ session, client, port }) => {
      const body = { command: 'true', session_id: session, ports: [await freePort(), port] };
      await expect(client.call(endpoints.createProcess, { body })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining(`cannot publish port ${port} (EADDRINUSE)`),
      });
      // The ports before it are free again.
      const [free = 0] = body.ports;
      const again = { ...body, ports: [free] };
      const { process } = await client.call(endpoints.createProcess, { body: again });
      expect(process.ports).toEqual([free]);
    });
    const none = async ({ session, client }: Harness) => {
      const body = { command: 'true', session_id: session, ports: [await freePort()] };
      await expect(client.call(endpoints.createProcess, { body })).rejects.toMatchObject({
        code: 'invalid',
        message: expect.stringContaining('no network'),
      });
    };
    await withHarness(noHosts, none, 'none');
  });

  test('The network ends with the session, and another session has its own.', () =>
    withHarness(thisHost, async ({ say, port, session, client, root }) => {
      await say('true');
      await client.call(endpoints.closeSession, { params: { session_id: session }, body: {} });
      const { id } = await openSession(client, root);
      await expectEventually(() => say(`curl -sS http://localhost:${port}/a`, id)).toBe(
        `GET localhost:${port} /a \n`,
      );
    }));
});
