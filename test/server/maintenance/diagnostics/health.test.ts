import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { Client } from '../../../../src/client/client.ts';
import { configSchema } from '../../../../src/core/config/schema.ts';
import { cadreOn } from '../../../support/cli/cadre.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { apiOf, send } from '../../../support/http/request.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { type TestRuntime, withRuntime, testRuntime } from '../../../support/runtime.ts';
import { scripted } from '../../../support/scripted-provider.ts';
import { FullDisk } from '../../../support/sessions/faults.ts';
import { testServer } from '../../../support/server.ts';
import { DATABASE_FILE, testDisk, WAL_FILE } from '../../../support/store.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession, runTurn } from '../../../support/turns.ts';

const NO_DISK_HAS = 999_999_999_999_999;

async function healthOf(given: Pick<TestRuntime, 'url' | 'token'>) {
  const reply = await apiOf(given)('GET', '/v1/health');
  expect(reply.status).toBe(200);
  return reply.json() as { status: string; checks: Record<string, object> };
}

async function storeOf(given: TestRuntime): Promise<object> {
  return (await healthOf(given)).checks.store ?? {};
}

function degraded(words: RegExp) {
  return { status: 'degraded', detail: expect.stringMatching(words) as unknown };
}

function reload({ runtime }: TestRuntime, retention: object): void {
  runtime.reload(() => configSchema.parse({ retention }));
}

test('The health is ok without a detail if nothing is wrong.', async () => {
  const given = await testRuntime(scripted());
  await openSession(given.client, given.directory);
  expect(await healthOf(given)).toMatchObject({
    status: 'ok',
    checks: { store: { status: 'ok' }, providers: { status: 'ok' } },
  });
  for (const check of Object.values((await healthOf(given)).checks))
    expect(check).not.toHaveProperty('detail');
});

test('The health on a full disk has the reason for which a session is refused, until there is room.', async () => {
  const given = await testRuntime(scripted());
  reload(given, { min_free_bytes: NO_DISK_HAS });
  const refusal = await openSession(given.client, given.directory).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'storage_full' });
  const { message } = refusal as Error;
  expect(await healthOf(given)).toMatchObject({
    status: 'degraded',
    checks: { store: { status: 'degraded', detail: message }, providers: { status: 'ok' } },
  });
  const open = await send(given.url, { path: '/health' });
  expect([open.status, open.json()]).toEqual([200, { status: 'degraded' }]);
  reload(given, { min_free_bytes: 0 });
  expect(await healthOf(given)).toMatchObject({ status: 'ok' });
  await openSession(given.client, given.directory);
});

test('After a failed write on a full disk, the health is degraded until a write succeeds.', async () => {
  const given = await testRuntime(scripted());
  reload(given, { min_free_bytes: 0 });
  using disk = new FullDisk();
  disk.full = true;
  const opened = openSession(given.client, given.directory);
  await expect(opened).rejects.toMatchObject({ code: 'storage_full' });
  expect(await storeOf(given)).toEqual(degraded(/the disk is full: free some space/));
  disk.full = false;
  await openSession(given.client, given.directory);
  expect(await storeOf(given)).toEqual({ status: 'ok' });
});

test('The health is degraded over the budget once retention has found nothing to remove.', async () => {
  const clock = new ManualClock();
  const given = await testRuntime({ ...scripted(), clock });
  await openSession(given.client, given.directory);
  reload(given, { max_bytes: 1 });
  expect(await storeOf(given)).toEqual({ status: 'ok' });
  clock.advance(10_000);
  await expectEventually(() => storeOf(given)).toEqual(
    degraded(/^the data exceeds retention\.max_bytes \(1\).*close sessions/),
  );
  reload(given, { max_bytes: 0 });
  expect(await storeOf(given)).toEqual({ status: 'ok' });
});

test('cadre status prints why the server is degraded, and cadre doctor that it is degraded.', async () => {
  const server = await testServer({
    env: { CADRE_RETENTION_MIN_FREE_BYTES: String(NO_DISK_HAS) },
  });
  const cadre = cadreOn(server);
  const { stdout } = await cadre(['status']);
  expect(stdout).toMatch(/^status +degraded$/m);
  expect(stdout).toMatch(/^store +less than retention\.min_free_bytes/m);
  expect((await cadre(['doctor'])).stdout).toMatch(
    /is degraded \(store: less than retention\.min_free_bytes .*\): see cadre status/,
  );
});

/** A runtime on a disk whose syncs take as long as `disk.syncMs` says, by a clock of the test. */
function onDisk(
  run: (given: TestRuntime, disk: { syncMs: number; clock: ManualClock }) => Promise<void>,
) {
  const clock = new ManualClock();
  const slow = { syncMs: 3, clock };
  const disk = testDisk();
  disk.onSync = (_file, done) =>
    void setImmediate(() => {
      clock.advance(slow.syncMs);
      done(null);
    });
  return withRuntime((given) => run(given, slow), { ...scripted(), clock, fs: disk.fs });
}

/** Each is stored by a sync of its own. */
async function openSessions({ client, directory }: TestRuntime, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await openSession(client, directory);
}

test('The health reports the time of a sync until syncs are fast again.', () =>
  onDisk(async (given, disk) => {
    await openSessions(given, 10);
    expect(await storeOf(given)).toEqual({ status: 'ok' });
    disk.syncMs = 1500;
    await openSessions(given, 20);
    expect(await storeOf(given)).toEqual(degraded(/^a disk sync takes 1\.5 s/));
    disk.syncMs = 3;
    await openSessions(given, 40);
    expect(await storeOf(given)).toEqual({ status: 'ok' });
  }));

test('A single slow sync among fast ones does not degrade the health.', () =>
  onDisk(async (given, disk) => {
    await openSessions(given, 5);
    disk.syncMs = 4000;
    await openSessions(given, 1);
    expect(await storeOf(given)).toEqual({ status: 'ok' });
  }));

test('Slow syncs are forgotten after a minute.', () =>
  onDisk(async (given, disk) => {
    disk.syncMs = 1500;
    await openSessions(given, 20);
    expect(await storeOf(given)).toEqual(degraded(/a disk sync takes 1\.5 s/));
    disk.syncMs = 3;
    disk.clock.advance(60_001);
    expect(await storeOf(given)).toEqual({ status: 'ok' });
  }));

test('The health reports a sync that does not end until it ends.', async () => {
  const clock = new ManualClock();
  const disk = testDisk();
  const given = await testRuntime({ ...scripted(), clock, fs: disk.fs });
  await openSession(given.client, given.directory);
  using held = disk.holdSyncs(WAL_FILE);
  const opening = openSession(given.client, given.directory);
  const end = await held.next();
  clock.advance(5000);
  expect(await storeOf(given)).toEqual({ status: 'ok' });
  clock.advance(1000);
  expect(await storeOf(given)).toEqual(degraded(/^a disk sync has been running for 6\.0 s/));
  end(null);
  await opening;
  expect(await storeOf(given)).toEqual({ status: 'ok' });
});

/** Changes a text wherever it is in the database of a server that has stopped. */
function damage(directory: string, from: string, to: string): void {
  const file = path.join(directory, DATABASE_FILE);
  const bytes = fs.readFileSync(file);
  expect(bytes.indexOf(from)).toBeGreaterThan(0);
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at))
    Buffer.from(to).copy(bytes, at);
  fs.writeFileSync(file, bytes);
}

async function expectDamaged(reading: Promise<unknown>): Promise<void> {
  await expect(reading).rejects.toMatchObject({ code: 'storage_damaged' });
}

test('Health reports a damaged row with its table once it was read, and as long as the server runs.', async () => {
  const own = testDirectory('damaged');
  const directory = path.join(own, 'data');
  const before = await testRuntime({ ...scripted(), directory });
  const { id } = await openSession(before.client, directory, { metadata: 'hello' });
  await openSession(before.client, directory);
  await before.stop();
  damage(directory, '"hello"', '"jello"');

  const { given, client } = await testRuntime({ ...scripted(), directory });
  expect(await storeOf(given)).toEqual({ status: 'ok' });
  await expectDamaged(client.call(endpoints.getSession, { params: { session_id: id } }));
  expect(await storeOf(given)).toEqual(
    degraded(/^corrupt rows were read since the start: row 1 of table sessions; restore a copy/),
  );
  await expectDamaged(client.call(endpoints.replayEvents, { query: {} }));
  expect(await storeOf(given)).toEqual(
    degraded(/: row 1 of table sessions, row \d+ of table events; restore/),
  );
  // Requests for intact rows succeed, and the health stays degraded.
  await openSession(client, directory);
  expect(await healthOf(given)).toMatchObject({ status: 'degraded' });
});

const failing = { enabled: true, command: 'false', transport: 'stdio', request_timeout_ms: 5000 };
const lastTurn = async (client: Client, directory: string) => {
  const { id } = await openSession(client, directory);
  return (await runTurn(client, id, 'hello')).turn;
};

test('A provider whose last start failed degrades health, in the words of GET /v1/providers.', async () => {
  const given = await testRuntime({
    config: {
      providers: { acp: failing, claude: { enabled: false }, codex: { enabled: false } },
    },
  });
  expect((await healthOf(given)).checks.providers).toEqual({ status: 'ok' });
  expect(await lastTurn(given.client, given.directory)).toMatchObject({ status: 'failed' });
  const providers = await given.client.call(endpoints.listProviders, {});
  const detail = providers.find(({ id }) => id === 'acp')?.detail;
  expect(detail).toMatch(/^the last start failed: /);
  expect(await healthOf(given)).toMatchObject({
    status: 'degraded',
    checks: { store: { status: 'ok' }, providers: { detail: `acp: ${detail}` } },
  });
});
