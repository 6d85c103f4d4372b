import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { stringify } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import type { Approval } from '../../../../src/api/approvals.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { freePort } from '../../../support/free-port.ts';
import { ended, printed, ranTo, run, stdout } from '../../../support/processes/work.ts';
import { Watch } from '../../../support/providers/watch.ts';
import { hasSandbox, required } from '../../../support/sandbox/available.ts';
import { type TestServer, withServers } from '../../../support/server.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { ofKind, openSession, send } from '../../../support/turns.ts';
import { SHELL_AGENT } from '../../conversations/sessions/shell-agent.ts';

interface Harness {
  /** Kills the last server, and starts the next one. */
  next: (env?: Record<string, string>) => Promise<TestServer>;
  root: string;
  /** The URL of a server of the machine that sandboxes reach. */
  url: string;
  /** The requests that this server has got. */
  got: string[];
}

/** Runs a test with servers on one directory, whose agents and processes run in a sandbox. */
async function withHarness(
  network: string,
  test: (harness: Harness) => Promise<void>,
): Promise<void> {
  await using program = tempDirectory('agent');
  await using root = tempDirectory('root');
  const agent = path.join(program.path, 'agent.mjs');
  fs.writeFileSync(agent, SHELL_AGENT);
  const got: string[] = [];
  const server = http.createServer(({ url = '' }, response) => {
    got.push(url);
    // Not by the response, because the answers of cadre are recorded there.
    response.socket?.end(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nanswer to ${url}\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const config = stringify({
    ...required({
      children: ['agents', 'tools'],
      network,
      hosts: [`localhost:${port}`],
      read: [path.dirname(process.execPath)],
    }),
    providers: { acp: { command: process.execPath, args: [agent] } },
  });
  try {
    await withServers(async (start) => {
      let last: TestServer | undefined;
      const next = async (env: Record<string, string> = {}) => {
        await last?.end('SIGKILL');
        return (last = await start({ config, env }));
      };
      await test({ next, root: root.path, url: `http://localhost:${port}`, got });
    });
  } finally {
    server.close();
  }
}

/** The words of a shell that waits for a file. */
const until = (name: string) => `until [ -e ${name} ]; do sleep 0.05; done`;
const NETWORK = 'readlink /proc/self/ns/net';
const SANDBOX = 'readlink /proc/self/ns/pid';

/** Resolves with the text of a turn once it has completed. */
async function textOf({ client }: TestServer, turnId: string): Promise<string> {
  const watch = new Watch(client);
  try {
    expect((await watch.end(turnId)).kind).toBe('turn.completed');
    const messages = ofKind(watch.of(turnId), 'message.completed');
    return messages.map(({ payload }) => String(payload.text)).join('');
  } finally {
    await watch.stop();
  }
}

describe.skipIf(!hasSandbox)('a takeover in a sandbox', () => {
  test('An agent continues after the server was killed: it reaches its hosts and the tools, and stays in its sandbox.', () =>
    withHarness('hosts', async ({ next, root, url }) => {
      const first = await next();
      const session = await openSession(first.client, root);
      const script = [
        `curl -sS ${url}/before; echo >begun`,
        until('killed'),
        `curl -sS --noproxy '' ${url}/proxy; curl -sS ${url}/direct; curl -sS http://example.invalid/`,
        'curl -sS $CADRE_GATEWAY_URL/health | cut -c 3-8',
        `cat ${first.directory}/auth/token; echo written > file; ${NETWORK}; ${SANDBOX}`,
      ].join('; ');
      const turn = await send(first.client, session.id, script);
      await expectEventually(() => fs.existsSync(path.join(root, 'begun'))).toBe(true);

      const second = await next();
      fs.writeFileSync(path.join(root, 'killed'), '');
      const text = await textOf(second, turn.turn_id);
      const [network = '', sandbox = ''] = text.trim().split('\n').slice(-2);
      expect(text).toMatch(
        /^answer to \/before\nanswer to \/proxy\nanswer to \/direct\ncadre: .*does not reach.*\nstatus\ncat: .*No such file.*\nnet:/,
      );
      const recovery = await second.client.call(endpoints.getRecovery, {});
      expect(recovery).toMatchObject({ turns_attached: [turn.turn_id], turns_failed: [] });

      // The next turn has an agent with the sandbox of the configuration, in the same network.
      const { turn_id } = await send(second.client, session.id, `${NETWORK}; ${SANDBOX}`);
      const [nextNetwork, nextSandbox] = (await textOf(second, turn_id)).split('\n');
      expect([nextNetwork, nextSandbox === sandbox]).toEqual([network, false]);
      const process = await ranTo(second, NETWORK, { session_id: session.id });
      expect(await stdout(second, process)).toBe(`${network}\n`);
    }));

  test('A turn keeps the sandbox with which it has begun, and the next turn has the sandbox of the configuration.', () =>
    withHarness('hosts', async ({ next, root }) => {
      const withoutSandbox = { CADRE_SANDBOX_MODE: 'off' };
      const seesToken = ({ directory }: TestServer) =>
        `if [ -e ${directory}/auth/token ]; then echo open; else echo closed; fi`;
      for (const [before, after] of [
        [withoutSandbox, {}],
        [{}, withoutSandbox],
      ]) {
        fs.rmSync(path.join(root, 'killed'), { force: true });
        const first = await next(before);
        const session = await openSession(first.client, root);
        const running = await send(
          first.client,
          session.id,
          `echo >begun; ${until('killed')}; ${seesToken(first)}`,
        );
        await expectEventually(() => fs.existsSync(path.join(root, 'begun'))).toBe(true);

        const second = await next(after);
        fs.writeFileSync(path.join(root, 'killed'), '');
        const isOpen = (env: object | undefined) =>
          env === withoutSandbox ? 'open\n' : 'closed\n';
        expect(await textOf(second, running.turn_id)).toBe(isOpen(before));
        const { turn_id } = await send(second.client, session.id, seesToken(second));
        expect(await textOf(second, turn_id)).toBe(isOpen(after));
        fs.rmSync(path.join(root, 'begun'));
      }
    }));

  test('A process with outlive continues after the server was killed: it reaches its hosts, and its ports are published.', () =>
    withHarness('hosts', async ({ next, root, url, got }) => {
      const first = await next();
      const session = await openSession(first.client, root);
      const port = await freePort();
      const served = `require('http').createServer((q, s) => s.end('served')).listen(${port}, '127.0.0.1', () => console.log('listens'))`;
      const command = `curl -sS ${url}/before; '${process.execPath}' -e "${served}" & ${until('killed')}; curl -sS ${url}/after; exit 3`;
      const about = { session_id: session.id, outlive: true, ports: [port] };
      const begun = await run(first, command, about);
      await printed(first, begun, 'listens');

      const second = await next();
      const fetchServed = async () => (await fetch(`http://127.0.0.1:${port}/`)).text();
      expect(await fetchServed()).toBe('served');
      const params = { process_id: begun.process_id };
      const wait = { params, query: { for: `port:${port}` } } as const;
      expect(await second.client.call(endpoints.waitForProcess, wait)).toBeDefined();
      fs.writeFileSync(path.join(root, 'killed'), '');
      expect(await ended(second, begun)).toMatchObject({ status: 'failed', exit_code: 3 });
      expect(got).toEqual(['/before', '/after']);
      await expectEventually(() => fetchServed().catch(() => 'refused')).toBe('refused');
    }));

  test('A question about a host is withdrawn when the server dies, because its connection has ended, and asked again with the next connection.', () =>
    withHarness('ask', async ({ next, root }) => {
      const first = await next();
      const session = await openSession(first.client, root);
      const fetching = 'curl -sS http://example.invalid/';
      const turn = await send(
        first.client,
        session.id,
        `${fetching}; ${until('killed')}; ${fetching}`,
      );
      const params = { session_id: session.id };
      const asked = async ({ client }: TestServer, status: Approval['status']) =>
        client.call(endpoints.listSessionApprovals, { params, query: { status } });
      await expectEventually(() => asked(first, 'pending')).toHaveLength(1);
      const [before] = await asked(first, 'pending');

      const second = await next();
      expect(await second.client.call(endpoints.getRecovery, {})).toMatchObject({
        approvals_cancelled: [before?.id],
      });
      fs.writeFileSync(path.join(root, 'killed'), '');
      await expectEventually(() => asked(second, 'pending')).toHaveLength(1);
      const [again] = await asked(second, 'pending');
      const one = { session_id: session.id, approval_id: again?.id ?? '' };
      const body = { decision: 'decline' as const };
      await second.client.call(endpoints.decideApproval, { params: one, body });
      expect(await textOf(second, turn.turn_id)).toMatch(/does not reach example\.invalid/);
    }));
});
