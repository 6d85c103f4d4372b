import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { someOf } from '../../support/at-length.ts';
import { testRuntime } from '../../support/runtime.ts';
import { recordedServer, untilNothingCarries, testServer } from '../../support/server.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';
import { openSession, send as sendTurn } from '../../support/turns.ts';
import { send } from '../../support/http/request.ts';
import { runCadre, runHere, startCadre } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';

test('The server prints its address and paths on stdout, and its log as JSON lines on stderr.', async () => {
  await using place = tempDirectory();
  const directory = path.join(place.path, 'data');
  const server = startCadre(place.path, [
    '--data-dir',
    directory,
    'serve',
    '--demo',
    '--port',
    '0',
  ]);
  await server.until('token\n');
  server.child.kill('SIGTERM');
  const { code, stdout, stderr } = await server.ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^cadre [\d.]+ listens on http:\/\/127\.0\.0\.1:\d+\n {2}data {3}.*data\n {2}token {2}.*auth\/token\n$/,
  );
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string });
  expect(lines.map(({ msg }) => msg)).toEqual(
    expect.arrayContaining(['ready', 'stopping', 'stopped']),
  );
  const token = fs.readFileSync(path.join(directory, 'auth', 'token'), 'utf8').trim();
  expect(stdout + stderr).not.toContain(token);
  await untilNothingCarries(directory);
});

test('The server runs without features that the oldest supported Node lacks.', async () => {
  await using place = tempDirectory();
  const args = ['--data-dir', path.join(place.path, 'data'), 'serve', '--demo', '--port', '0'];
  const lacks = 'delete globalThis.DisposableStack; delete globalThis.AsyncDisposableStack;';
  const server = startCadre(place.path, args, { env: withPreload(lacks) });
  await server.until('token\n');
  server.child.kill('SIGTERM');
  const { code, stderr } = await server.ended;
  expect(stderr).not.toContain('DisposableStack');
  expect(code).toBe(0);
  await untilNothingCarries(place.path);
});

test('A server that fails after it listens stops and leaves nothing.', async () => {
  await using place = tempDirectory();
  const args = ['--data-dir', path.join(place.path, 'data'), 'serve', '--demo', '--port', '0'];
  const fails = `
      const { write } = process.stdout;
      process.stdout.write = function (text) {
        if (text.includes('listens on')) throw new Error('nobody hears it');
        return write.apply(this, arguments);
      };`;
  const { code, stderr } = await runCadre(place.path, args, { env: withPreload(fails) });
  expect(stderr).toMatch(/"msg":"stopped".*cadre: .*nobody hears it/s);
  expect(code).toBe(1);
  await untilNothingCarries(place.path);
});

test.for(someOf(['SIGINT', 'SIGTERM'] as const, 2))(
  'The server drains on %s and ends with 0, and a second signal ends the drain.',
  async (signal) => {
    const server = await testServer({ env: { CADRE_SERVER_DRAIN_MS: '3600000' } });
    const { client, directory, url, pid } = server;
    const { id } = await openSession(client, directory);
    await sendTurn(client, id, 'say working; silent');
    // A stop does not wait for a turn whose agent is still starting.
    const query = { kind: ['message.delta'] };
    const said = async () => (await client.call(endpoints.replayEvents, { query })).length;
    await expectEventually(said).toBe(1);
    process.kill(pid, signal);
    // The server has received the first signal once it refuses new connections.
    const health = () =>
      send(url, { path: '/health' }).then(
        () => 'answers',
        () => 'refuses',
      );
    await expectEventually(health).toBe('refuses');
    expect(await server.end(signal)).toEqual({ code: 0, signal: null });
  },
);

test('The server ends with 0 even if signals arrive until its end.', async () => {
  const server = await testServer();
  let hasEnded = false;
  const ended = server.end('SIGTERM').finally(() => (hasEnded = true));
  while (!hasEnded) {
    for (let i = 0; i < 20; i++) sendSignal(server.pid);
    await new Promise(setImmediate);
  }
  expect(await ended).toEqual({ code: 0, signal: null });
});

test('A data directory in use is refused with 7 and the pid of the other server.', async () => {
  const { directory } = await testRuntime();
  const second = await runCadre(directory, ['--data-dir', directory, 'serve', '--port', '0']);
  expect(second).toMatchObject({ code: 7, stdout: '' });
  expect(second.stderr.trim().split('\n').at(-1)).toMatch(
    new RegExp(
      `^cadre: another server \\(pid ${process.pid}\\) uses the data directory .* cadre stop --data-dir ${directory}, or `,
    ),
  );
});

test('A port in use is refused with 7, and an invalid configuration with 2.', async () => {
  const { url, directory } = await testRuntime();
  using home = tempDirectory();
  const { port } = new URL(url);
  const taken = await runCadre(home.path, ['serve', '--port', port]);
  expect(taken).toMatchObject({ code: 7, stdout: '' });
  expect(taken.stderr).toContain(`port ${port} is in use: choose another port with --port`);
  const config = path.join(directory, 'bad.toml');
  fs.writeFileSync(config, '[server]\nbind_adress = "x"\n');
  const wrong = await runHere(home.path, ['serve', '--config', config]);
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  expect(wrong.stderr).toMatch(
    /^cadre: invalid configuration: unknown key "server\.bind_adress"; did you mean "bind_address"\?/,
  );
  const level = await runHere(home.path, ['serve', '--log-level', 'loud']);
  expect(level.code).toBe(2);
});

test('The server takes its address and log level from the environment and the file too.', async () => {
  await using place = tempDirectory();
  const config = path.join(place.path, 'config.toml');
  fs.writeFileSync(config, '[log]\nlevel = "silent"\n[server]\nbind_address = "127.0.0.1:1"\n');
  const env = {
    CADRE_SERVER_BIND_ADDRESS: '127.0.0.1:0',
    CADRE_DATA_ROOT_DIR: path.join(place.path, 'data'),
  };
  const server = startCadre(place.path, ['--json', 'serve', '--config', config], { env });
  await server.until('\n');
  const { url, data_dir } = JSON.parse(server.stdout()) as { url: string; data_dir: string };
  expect(url).not.toBe('http://127.0.0.1:1');
  expect(data_dir).toBe(path.join(place.path, 'data'));
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0, stderr: '' });
  await untilNothingCarries(place.path);
});

test('An address that other machines reach is refused without --allow-remote.', async () => {
  const { code, stderr } = await runHere(testDirectory(), ['serve', '--bind', '0.0.0.0:0']);
  expect(code).toBe(2);
  expect(stderr).toContain('--allow-remote');
});

/** Returns an environment in which Node runs this code before the program. */
function withPreload(code: string): Record<string, string> {
  const { NODE_OPTIONS = '' } = recordedServer();
  const first = `--import data:text/javascript,${encodeURIComponent(code)}`;
  return { NODE_OPTIONS: `${NODE_OPTIONS} ${first}` };
}

/** Sends SIGINT to a process that may have ended. */
function sendSignal(pid: number): void {
  try {
    process.kill(pid, 'SIGINT');
  } catch {
    // The process has ended.
  }
}
