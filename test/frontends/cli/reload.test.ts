import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { send } from '../../support/http/request.ts';
import { shared } from '../../support/shared.ts';
import {
  type TestServer,
  untilNothingCarries,
  withServer,
  testServer,
} from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { cadreOn, startCadre } from '../../support/cli/cadre.ts';

interface Line {
  level: string;
  msg: string;
  changed?: string[];
  keys?: string[];
  err?: { message: string };
}

function linesOf(server: TestServer): Line[] {
  const whole = server.log().split('\n').slice(0, -1);
  return whole.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line);
}

/** Sends SIGHUP with a new configuration, and resolves with its log line. */
async function reload(server: TestServer, toml?: string): Promise<Line> {
  if (toml !== undefined) fs.writeFileSync(path.join(server.directory, 'config.toml'), toml);
  const reloadLines = () =>
    linesOf(server).filter(({ msg }) => /^configuration (not )?reloaded/.test(msg));
  const before = reloadLines().length;
  process.kill(server.pid, 'SIGHUP');
  await expectEventually(() => reloadLines().length).toBe(before + 1);
  return reloadLines().at(-1) as Line;
}

/** Returns the status of a request with this token and these headers. */
async function knock(
  { url }: TestServer,
  token: string,
  headers: Record<string, string> = {},
): Promise<number> {
  const asked = { path: '/v1/version', headers: { authorization: `Bearer ${token}`, ...headers } };
  return (await send(url, asked)).status;
}

const NEW_TOKEN = 'another-token-another-token';

const listening = shared<TestServer>('server', (use) => withServer(use, { config: '' }));

test('SIGHUP applies lists, limits and the log level, reports each by name, and keeps the server running.', async () => {
  const server = listening();
  const { token } = server;
  await reload(server, '');
  const foreign = { host: 'box.lan', origin: 'http://app.lan' };
  expect(await knock(server, token, foreign)).toBe(403);
  const toml =
    '[server]\nallowed_hosts = ["box.lan"]\nallowed_origins = ["http://app.lan"]\n' +
    '[log]\nlevel = "debug"\n[providers]\nmax_live = 3\n';
  const { changed, level } = await reload(server, toml);
  expect(level).toBe('info');
  expect(changed).toEqual([
    'server.allowed_hosts',
    'server.allowed_origins',
    'log.level',
    'providers.max_live',
  ]);
  expect(await knock(server, token, foreign)).toBe(200);
  expect((await reload(server)).changed).toEqual([]);
  await reload(server, '');
  expect(await knock(server, token, foreign)).toBe(403);
});

test('SIGHUP replaces the token: the old one is refused, and clients find the new one.', async () => {
  const server = await testServer({ config: '' });
  const { token, directory } = server;
  fs.writeFileSync(path.join(directory, 'auth', 'token'), NEW_TOKEN);
  expect(await knock(server, token)).toBe(200);
  expect((await reload(server)).changed).toEqual(['auth.token']);
  expect([await knock(server, token), await knock(server, NEW_TOKEN)]).toEqual([401, 200]);
  expect(await cadreOn(server)(['status'])).toMatchObject({ code: 0 });
  // The new token file does not exist yet, and is created.
  const other = path.join(directory, 'other');
  const { changed } = await reload(server, `[auth]\ntoken_file = "${other}"\n`);
  expect(changed).toEqual(['auth.token', 'auth.token_file']);
  expect(await knock(server, fs.readFileSync(other, 'utf8').trim())).toBe(200);
  expect(await cadreOn(server)(['status'])).toMatchObject({ code: 0 });
  expect(server.log()).not.toContain(NEW_TOKEN);
});

test('SIGHUP reports the keys that need a restart and does not change them.', async () => {
  const server = listening();
  await reload(server, '');
  const toml =
    '[data]\ndurability = "normal"\n[providers.acp]\ncommand = "none"\n[server]\ndrain_ms = 1\n';
  expect((await reload(server, toml)).changed).toEqual([]);
  const restart = linesOf(server).find(({ msg }) => msg.includes('require a restart'));
  expect(restart).toMatchObject({
    level: 'warn',
    keys: expect.arrayContaining(['data.durability', 'providers.acp.command', 'server.drain_ms']),
  });
  expect(await knock(server, server.token)).toBe(200);
});

test('SIGHUP with an invalid file or token changes nothing and reports the error.', async () => {
  const server = listening();
  const { token, directory } = server;
  await reload(server, '[server]\nallowed_hosts = ["box.lan"]\n');
  const host = { host: 'box.lan' };
  const wrong = await reload(server, '[server]\nallowed_hosts = []\nbind_adress = "x"\n');
  expect(wrong).toMatchObject({
    level: 'error',
    err: { message: expect.stringContaining('did you mean "bind_address"?') },
  });
  expect(await knock(server, token, host)).toBe(200);
  const file = path.join(directory, 'auth', 'token');
  fs.chmodSync(file, 0o644);
  const open = await reload(server, '[server]\nallowed_hosts = []\n');
  expect(open).toMatchObject({
    level: 'error',
    err: { message: expect.stringContaining('chmod 600') },
  });
  expect(await knock(server, token, host)).toBe(200);
  fs.chmodSync(file, 0o600);
  expect((await reload(server)).changed).toEqual(['server.allowed_hosts']);
  expect(await knock(server, token, host)).toBe(403);
});

test('SIGHUP does not stop a server whose log pipe is closed.', async () => {
  await using place = tempDirectory();
  const server = startCadre(place.path, ['--json', 'serve', '--demo', '--port', '0']);
  await server.until('\n');
  const { url, token_file } = JSON.parse(server.stdout()) as Record<string, string>;
  const token = fs.readFileSync(token_file ?? '', 'utf8').trim();
  server.child.stderr?.destroy();
  server.child.kill('SIGHUP');
  const headers = { authorization: `Bearer ${token}` };
  for (let asked = 0; asked < 3; asked++)
    expect((await send(url ?? '', { path: '/v1/version', headers })).status).toBe(200);
  server.child.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
  await untilNothingCarries(place.path);
});
