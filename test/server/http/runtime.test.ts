import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Diagnostics } from '../../../src/api/runtime.ts';
import { version } from '../../../src/core/lib/self.ts';
import { withRuntime, testRuntime } from '../../support/runtime.ts';
import { scripted } from '../../support/scripted-provider.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession, runTurn } from '../../support/turns.ts';
import { apiOf, send } from '../../support/http/request.ts';
import { openStream } from '../../support/http/stream.ts';
import { expectEventually } from '../../support/expect-eventually.ts';

test('Health is the status alone where no token was given, and everything where one was.', async () => {
  const given = await testRuntime(scripted());
  const open = await send(given.url, { path: '/health' });
  expect(open.json()).toEqual({ status: 'ok' });
  expect((await apiOf(given)('GET', '/v1/health')).json()).toEqual({
    status: 'ok',
    version,
    uptime_ms: expect.any(Number),
    fleet: { state: 'off' },
    sandbox: { mode: 'off', level: 'off' },
    checks: { store: { status: 'ok' }, providers: { status: 'ok' }, agents: { status: 'ok' } },
  });
});

test('Health is degraded, and still 200, when an enabled provider could start no agent.', async () => {
  const given = await testRuntime({
    config: { providers: { acp: { command: 'no-such-program-anywhere' } } },
  });
  const open = await send(given.url, { path: '/health' });
  expect([open.status, open.json()]).toEqual([200, { status: 'degraded' }]);
  const reply = await apiOf(given)('GET', '/v1/health');
  expect(reply.status).toBe(200);
  expect(reply.json()).toMatchObject({
    status: 'degraded',
    checks: { store: { status: 'ok' }, providers: { status: 'degraded' } },
  });
});

test('Health is not degraded by a provider that is not configured, or disabled.', async () => {
  for (const config of [{}, { providers: { acp: { enabled: false, command: 'nope' } } }]) {
    await withRuntime(
      async ({ url }) => {
        expect((await send(url, { path: '/health' })).json()).toEqual({ status: 'ok' });
      },
      { config },
    );
  }
});

test('GET /v1/version names the program, its version and the epoch of the data.', async () => {
  const given = await testRuntime();
  expect((await apiOf(given)('GET', '/v1/version')).json()).toEqual({
    name: 'cadre',
    version,
    api_version: 'v1',
    epoch: expect.stringMatching(/^epoch_/),
    node: process.version,
    commit: expect.any(String),
  });
});

test('Diagnostics tell of health, recovery, providers, storage and streams in numbers.', async () => {
  const { given, client, directory } = await testRuntime(scripted());
  const stream = await openStream(given);
  await stream.untilSeq(2);
  const { id } = await openSession(client, directory);
  await runTurn(client, id, 'hello');
  const found = (await apiOf(given)('GET', '/v1/diagnostics')).json() as Diagnostics;
  expect(found).toMatchObject({
    health: { status: 'ok' },
    recovery: { status: 'done', previous_stop: 'none' },
    providers: [
      {
        id: 'acp',
        healthy: true,
        detail: 'ready',
        sessions: 1,
        unknown_messages: 0,
        last_error: null,
      },
    ],
    storage: { latest_seq: 7 },
    streams: { followers: 1, waiting: 1, max_lag: 0 },
    children: { live: 0, keeper_pid: null, shim_pid: null },
  });
  stream.close();
});

test('Diagnostics count the streams that are left, not those that were.', async () => {
  const given = await testRuntime(scripted());
  const streams = await Promise.all(Array.from({ length: 5 }, () => openStream(given)));
  const followers = async () =>
    ((await apiOf(given)('GET', '/v1/diagnostics')).json() as Diagnostics).streams.followers;
  await expectEventually(followers).toBe(5);
  for (const stream of streams) stream.close();
  await expectEventually(followers).toBe(0);
});

test('The data directory holds the token and the registration for the owner alone, and the registration goes with the server.', async () => {
  const directory = path.join(testDirectory(), 'data');
  const given = await testRuntime({ directory });
  const mode = (name: string) => fs.statSync(path.join(directory, name)).mode & 0o777;
  expect(mode('.')).toBe(0o700);
  expect(mode('auth')).toBe(0o700);
  expect(mode('auth/token')).toBe(0o600);
  expect(mode('server.json')).toBe(0o600);
  expect(mode('events.cadre')).toBe(0o600);
  const registration = fs.readFileSync(path.join(directory, 'server.json'), 'utf8');
  expect(registration).not.toContain(given.token);
  expect(JSON.parse(registration)).toMatchObject({ url: given.url, pid: process.pid });
  await given.stop();
  expect(fs.existsSync(path.join(directory, 'server.json'))).toBe(false);
});
