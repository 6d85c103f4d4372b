import fs from 'node:fs';
import net from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectOne } from '../../../src/frontends/cli/context.ts';
import { endpoints } from '../../../src/api/index.ts';
import { findRegistration } from '../../../src/core/config/registration.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { type RunOptions, runCadre, runHere, startCadre } from '../../support/cli/cadre.ts';
import { systemd } from '../../../src/frontends/cli/service/systemd.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { keptPort } from '../../support/kept-port.ts';
import { withRuntime } from '../../support/runtime.ts';
import { recordedServer, untilNothingCarries } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';

const STARTED =
  /^cadre: started a server in the background at http:\/\/127\.0\.0\.1:\d+; stop it with cadre stop( --data-dir \S+)?$/m;

let place: ReturnType<typeof tempDirectory>;
let data: string;

beforeEach(() => {
  place = tempDirectory('server');
  data = path.join(place.path, '.local/share/cadre');
  const { file, args } = selfCommand();
  configure(
    `[providers.acp]\ncommand = ${JSON.stringify(file)}\nargs = ${JSON.stringify([...args, 'demo-agent'])}\n`,
  );
});

afterEach(async () => {
  await cadre(['stop', '--now']);
  await untilNothingCarries(place.path);
  place[Symbol.dispose]();
});

function configure(text: string): void {
  const file = path.join(place.path, '.config/cadre/config.toml');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.appendFileSync(file, text);
}

/** Runs a command for which only the terminal decides whether a server starts. */
function cadre(args: readonly string[], { env = {}, ...more }: RunOptions = {}) {
  const own = { ...recordedServer(), CADRE_CLIENT_AUTOSTART: undefined };
  return runHere(place.path, args, { ...more, env: { ...own, ...env } });
}

const registered = () => {
  const found = findRegistration(data);
  return found?.runs ? found.server : null;
};

test('A command on a terminal starts a server in the background, reports it in one line, and runs.', async () => {
  const { code, stdout, stderr } = await cadre(['run', 'say hello'], { isTerminal: true });
  expect([code, stdout]).toEqual([0, expect.stringContaining('hello')]);
  expect(stderr.match(new RegExp(STARTED, 'gm'))).toHaveLength(1);
  const server = registered();
  expect(server?.log).toBe(path.join(data, 'serve.log'));
  const again = await cadre(['sessions', 'list'], { isTerminal: true });
  expect([again.code, again.stderr]).toEqual([0, '']);
  expect(registered()).toEqual(server);
});

test('A command without a terminal ends with 6 and names the command that starts a server.', async () => {
  for (const args of [
    ['run', 'hi'],
    ['sessions', 'list'],
  ]) {
    const { code, stderr } = await cadre(args);
    expect([code, stderr]).toEqual([
      6,
      `cadre: no server is running on ${data}: start one with cadre serve --detach, or pass --url\n`,
    ]);
  }
  expect(fs.existsSync(data)).toBe(false);
});

test('A command that only shows the state of the server starts none, even on a terminal.', async () => {
  for (const args of [['status'], ['approvals', 'list'], ['providers', 'list']])
    expect((await cadre(args, { isTerminal: true })).code).toBe(6);
  expect(registered()).toBeNull();
});

test('The setting client.autostart decides whether a server starts, and a variable overrides it.', async () => {
  configure('[client]\nautostart = "never"\n');
  expect((await cadre(['run', 'say a'], { isTerminal: true })).code).toBe(6);
  const env = { CADRE_CLIENT_AUTOSTART: 'always' };
  expect(await cadre(['run', 'say a'], { env })).toMatchObject({ code: 0 });
});

test('With "ask", Enter starts a server, n does not, and without a terminal none starts.', async () => {
  const env = { CADRE_CLIENT_AUTOSTART: 'ask' };
  expect((await cadre(['sessions', 'list'], { env })).code).toBe(6);
  const declined = await cadre(['sessions', 'list'], { env, isTerminal: true, stdin: 'n\n' });
  expect(declined.stderr).toContain('Start one in the background? [Y/n]');
  expect([declined.code, registered()]).toEqual([6, null]);
  const agreed = await cadre(['sessions', 'list'], { env, isTerminal: true, stdin: '\n' });
  expect([agreed.code, agreed.stderr]).toEqual([0, expect.stringMatching(STARTED)]);
});

test('No server starts if --url or CADRE_URL names a server.', async () => {
  const url = `http://127.0.0.1:${await keptPort()}`;
  const token = { CADRE_TOKEN: 'some-token-some-token' };
  const named = await cadre(['--url', url, 'run', 'hi'], { isTerminal: true, env: token });
  const env = { ...token, CADRE_URL: url };
  expect(named).toMatchObject({ code: 6, stderr: expect.stringContaining('no server answers') });
  expect(await cadre(['run', 'hi'], { isTerminal: true, env })).toMatchObject({ code: 6 });
  expect(fs.existsSync(data)).toBe(false);
});

test('No server starts if a service is installed, and the error names the command that starts it.', async () => {
  const bin = path.join(place.path, 'bin');
  fs.mkdirSync(bin);
  fs.writeFileSync(path.join(bin, 'systemctl'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const unit = path.join(place.path, '.config/systemd/user/cadre.service');
  fs.mkdirSync(path.dirname(unit), { recursive: true });
  fs.writeFileSync(unit, '[Service]\n');
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const { code, stderr } = await cadre(['run', 'hi'], { isTerminal: true, env });
  expect([code, stderr]).toEqual([
    6,
    'cadre: the server is installed as a service, but the service is not running: start it with systemctl --user restart cadre\n',
  ]);
  fs.rmSync(unit);
});

test('A service for another data directory is not the reason why no server runs.', async () => {
  const bin = path.join(place.path, 'bin');
  fs.mkdirSync(bin);
  fs.writeFileSync(path.join(bin, 'systemctl'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const manager = systemd({ ...env, HOME: place.path });
  fs.mkdirSync(path.dirname(manager.file), { recursive: true });
  const [first, second] = [path.join(place.path, 'a $1 b'), path.join(place.path, 'c')];
  const own = { variablesFile: '/e', log: '/l', agentsOutlive: false };
  for (const [words, variables, directory] of [
    [['serve'], {}, null],
    [['--data-dir', first, 'serve'], {}, first],
    [['serve'], { CADRE_DATA_ROOT_DIR: first }, first],
    [['serve'], { CADRE_DATA_ROOT_DIR: second }, second],
  ] as const) {
    const command = ['/c', ...words] as const;
    fs.writeFileSync(manager.file, manager.text({ ...own, command, variables }));
    for (const asked of [null, first, second, `${second}c`]) {
      const option = asked === null ? [] : ['--data-dir', asked];
      const { code, stderr } = await cadre([...option, 'sessions', 'list'], { env });
      const why =
        asked === directory ? 'the server is installed as a service' : 'no server is running';
      expect([code, stderr]).toEqual([6, expect.stringContaining(why)]);
    }
  }
  fs.rmSync(manager.file);
});

test('No server starts after cadre stop until a user starts one.', async () => {
  const isTerminal = true;
  await cadre(['sessions', 'list'], { isTerminal });
  const pid = registered()?.pid;
  expect(await cadre(['stop', '--json'])).toMatchObject({ code: 0 });
  const stopped = await cadre(['run', 'hi'], { isTerminal });
  expect([stopped.code, stopped.stderr]).toEqual([
    6,
    `cadre: the server on ${data} was stopped with cadre stop: start it with cadre serve --detach\n`,
  ]);
  const args = ['serve', '--detach', '--port', '0'];
  expect(await cadre(args)).toMatchObject({ code: 0 });
  process.kill(registered()?.pid ?? 0, 'SIGTERM');
  await expectEventually(registered).toBeNull();
  expect(await cadre(['sessions', 'list'], { isTerminal })).toMatchObject({ code: 0 });
  expect(registered()?.pid).not.toBe(pid);
});

test('A server uses a free port if the usual one is in use, but never if a port is configured.', async () => {
  const other = net.createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as net.AddressInfo;
  try {
    const free = await cadre(['serve', '--detach', '--port', `${port}`, '--free-port']);
    expect(free.code).toBe(0);
    expect(new URL(registered()?.url ?? '').port).not.toBe(`${port}`);
    process.kill(registered()?.pid ?? 0, 'SIGTERM');
    await expectEventually(registered).toBeNull();
    configure(`[server]\nbind_address = "127.0.0.1:${port}"\n`);
    const taken = await cadre(['run', 'hi'], { isTerminal: true });
    expect([taken.code, taken.stderr]).toEqual([
      7,
      `cadre: port ${port} is in use: choose another port with --port, or any free port with --port 0\n`,
    ]);
  } finally {
    other.close();
  }
});

test('Commands that start at the same moment share one server.', async () => {
  const env = { ...recordedServer(), CADRE_CLIENT_AUTOSTART: 'always' };
  const all = ['a', 'b', 'c'].map((word) =>
    runCadre(place.path, ['run', '--provider', 'acp', `say ${word}`], { env }),
  );
  expect((await Promise.all(all)).map(({ code }) => code)).toEqual([0, 0, 0]);
  const { json } = await cadre(['--json', 'sessions', 'list']);
  expect(json()).toHaveLength(3);
});

test('An editor starts a server with its first request, without a terminal.', async () => {
  const initialize = { protocolVersion: 1, clientCapabilities: {} };
  const open = { cwd: place.path, mcpServers: [] };
  const stdin = [
    { jsonrpc: '2.0', id: 0, method: 'initialize', params: initialize },
    { jsonrpc: '2.0', id: 1, method: 'session/new', params: open },
  ];
  const env = { ...recordedServer(), CADRE_CLIENT_AUTOSTART: 'always' };
  const editor = startCadre(place.path, ['acp', '--provider', 'acp'], {
    env,
    stdin: `${stdin.map((one) => JSON.stringify(one)).join('\n')}\n`,
  });
  await editor.until('"sessionId"');
  expect((await editor.ended).stderr).toMatch(STARTED);
  expect(registered()).not.toBeNull();
});

test('An idle server stops cleanly after its time limit, and can be started again.', async () => {
  const args = ['serve', '--detach', '--port', '0', '--stop-after-idle', '500ms'];
  await cadre(args);
  await expectEventually(registered).toBeNull();
  expect(fs.readFileSync(path.join(data, 'serve.log'), 'utf8')).toMatch(/idle: stopping/);
  expect(await cadre(['sessions', 'list'], { isTerminal: true })).toMatchObject({ code: 0 });
});

test('A server keeps running while a process runs, and stops after it.', async () => {
  // The server must not be idle for so long before the command reaches it on a busy machine.
  const idle = ['--stop-after-idle', '2s'];
  await cadre(['serve', '--detach', '--port', '0', ...idle]);
  const release = path.join(place.path, 'release');
  fs.writeFileSync(release, '');
  const command = `while [ -e ${release} ]; do sleep 0.05; done`;
  const { code } = await cadre(['processes', 'run', command]);
  expect(code).toBe(0);
  // An idle server that starts later stops first.
  const later = path.join(place.path, 'later');
  await cadre(['--data-dir', later, 'serve', '--detach', '--port', '0', ...idle]);
  await expectEventually(() => findRegistration(later)?.runs ?? false).toBe(false);
  expect(registered()).not.toBeNull();
  fs.rmSync(release);
  await expectEventually(registered).toBeNull();
});

test('A server keeps running while a session waits for a usage limit.', async () => {
  // A live agent would keep the server running.
  configure('[server]\nstop_after_idle_ms = 300\n[providers]\nidle_timeout_ms = 50\n');
  await cadre(['run', 'limit 600000'], { isTerminal: true });
  const later = path.join(place.path, 'later');
  await cadre(['--data-dir', later, 'serve', '--detach', '--port', '0']);
  await expectEventually(() => findRegistration(later)?.runs ?? false).toBe(false);
  expect(registered()).not.toBeNull();
});

test('cadre stop without a server reports that, and creates nothing.', async () => {
  const { code, stdout } = await cadre(['stop']);
  expect([code, stdout]).toEqual([0, `No server is running on ${data}\n`]);
  expect(fs.existsSync(data)).toBe(false);
});

test('cadre stop --now interrupts a turn at once.', async () => {
  configure('[server]\ndrain_ms = 600000\n');
  await cadre(['serve', '--detach', '--port', '0']);
  const turn = startCadre(place.path, ['run', 'wait 600000']);
  const statuses = async () => {
    const { stdout } = await cadre(['--json', 'sessions', 'list']);
    return (JSON.parse(stdout) as { status: string }[]).map(({ status }) => status);
  };
  await expectEventually(statuses).toEqual(['running']);
  expect(await cadre(['stop', '--now'])).toMatchObject({ code: 0 });
  expect(registered()).toBeNull();
  turn.child.kill('SIGKILL');
  await turn.ended;
});

test('A client finds the server on a new port, and sends no token to the old port.', async () => {
  const directory = place.path;
  const options = { dataDir: directory };
  let old = 0;
  const client = await withRuntime(
    async ({ runtime }) => {
      const found = await connectOne(options, {});
      await found.call(endpoints.getHealth, {});
      old = Number(new URL(runtime.url).port);
      return found;
    },
    { directory },
  );
  const asked: string[] = [];
  const stranger = net.createServer((socket) =>
    socket.on('data', (part) => asked.push(String(part))),
  );
  await once(stranger.listen(old, '127.0.0.1'), 'listening');
  try {
    // The first call may use a connection that is closed without the client noticing.
    await expect(client.call(endpoints.getHealth, {})).rejects.toThrow(/^no server /);
    await expect(client.call(endpoints.getHealth, {})).rejects.toThrow(/^no server is running/);
    expect(asked).toEqual([]);
    await withRuntime(
      async ({ runtime }) => {
        expect(new URL(runtime.url).port).not.toBe(`${old}`);
        expect(await client.call(endpoints.getHealth, {})).toMatchObject({ status: 'ok' });
      },
      { directory },
    );
  } finally {
    client.close();
    stranger.close();
  }
});
