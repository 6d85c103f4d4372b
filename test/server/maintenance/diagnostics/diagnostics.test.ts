import fs from 'node:fs';
import http from 'node:http';
import { once } from 'node:events';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { Diagnostics, StorageDiagnostics } from '../../../../src/api/runtime.ts';
import { settle } from '../../../support/settle.ts';
import { openDatabase } from '../../../support/database.ts';
import { type TestRuntime, testRuntime } from '../../../support/runtime.ts';
import { scripted } from '../../../support/scripted-provider.ts';
import { asDataDirectory, testDirectory } from '../../../support/temp.ts';
import { openSession, runTurn, withSession } from '../../../support/turns.ts';
import { shortEvent, writeLog } from '../../../support/written-log.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { apiOf, send } from '../../../support/http/request.ts';

async function storageOf(given: TestRuntime): Promise<StorageDiagnostics> {
  return (await apiOf(given)('GET', '/v1/diagnostics/storage')).json() as StorageDiagnostics;
}

function tableOf({ tables }: StorageDiagnostics, name: string) {
  return tables.find((table) => table.name === name);
}

/** Asks for a backup; resolves when its head is there. */
async function askBackup({ url, token }: { url: string; token: string }) {
  const request = http.request(new URL('/v1/storage/backup', url), {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${token}` },
  });
  request.end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return { request, response };
}

async function saveBackup(given: TestRuntime, file: string) {
  const { response } = await askBackup(given);
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  fs.writeFileSync(file, Buffer.concat(parts));
  return response;
}

test('Each table is counted to the row and to the byte.', async () => {
  const given = await testRuntime(scripted());
  const { client, id } = await withSession(given);
  await runTurn(client, id, 'hello');
  const found = await storageOf(given);
  const events = await client.call(endpoints.replayEvents, { query: {} });
  const sessions = await client.call(endpoints.listSessions, { query: {} });
  const texts = (rows: readonly object[]) =>
    rows.reduce((sum, row) => sum + Buffer.byteLength(JSON.stringify(row)), 0);
  const columns = events.flatMap(({ kind, session_id }) => [kind, session_id ?? '']).join('');
  expect(tableOf(found, 'events')).toEqual({
    name: 'events',
    rows: events.length,
    bytes: texts(events) + columns.length,
  });
  expect(tableOf(found, 'sessions')?.rows).toBe(1);
  // A stored record may have more than a client is shown.
  expect(tableOf(found, 'sessions')?.bytes).toBeGreaterThanOrEqual(texts(sessions));
  expect(tableOf(found, 'deltas')).toEqual({ name: 'deltas', rows: 0, bytes: 0 });
  expect(found).toMatchObject({ oldest_seq: 1, latest_seq: events.at(-1)?.seq });
});

test('Tables with more rows than one step are counted, with and without a rowid.', async () => {
  const directory = testDirectory();
  asDataDirectory(directory);
  await writeLog(
    directory,
    Array.from({ length: 520 }, () => shortEvent),
  );
  await writeAnswers(directory, 520, 'an answer');
  const given = await testRuntime({ ...scripted(), directory });
  const found = await storageOf(given);
  expect(tableOf(found, 'events')?.rows).toBe(found.latest_seq);
  expect(found.latest_seq).toBeGreaterThan(520);
  expect(tableOf(found, 'idempotency')?.rows).toBe(520);
});

test('GET /v1/diagnostics/storage reports the files, the budget and the disk.', async () => {
  const given = await testRuntime({
    ...scripted(),
    config: { retention: { max_bytes: 5_000_000, min_free_bytes: 1234 } },
  });
  const blobs = path.join(given.directory, 'blobs');
  fs.mkdirSync(blobs);
  fs.writeFileSync(path.join(blobs, 'one'), 'x'.repeat(1000));
  fs.writeFileSync(path.join(given.directory, 'logs', 'p.stdout'), 'x'.repeat(234));
  const found = await storageOf(given);
  expect(found).toMatchObject({
    blobs_bytes: 1000,
    logs_bytes: 234,
    min_free_bytes: 1234,
    budget: { max_bytes: 5_000_000 },
  });
  const { database_bytes, free_bytes_in_database, budget } = found;
  expect(budget.used_bytes).toBe(database_bytes - free_bytes_in_database);
  expect(database_bytes % 4096).toBe(0);
  expect(found.disk_free_bytes).toBeGreaterThan(0);
});

test('The counts are updated after a minute, and values without a count at once.', async () => {
  const clock = new ManualClock();
  const { given, client, directory } = await testRuntime({ ...scripted(), clock });
  const first = await storageOf(given);
  await openSession(client, directory);
  clock.advance(59_999);
  const second = await storageOf(given);
  expect(second).toMatchObject({ counted_at: first.counted_at, tables: first.tables });
  expect(second.latest_seq).toBeGreaterThan(first.latest_seq);
  clock.advance(1);
  const third = await storageOf(given);
  expect(third.counted_at).toBeGreaterThan(first.counted_at);
  expect(tableOf(third, 'sessions')?.rows).toBe(1);
});

test('GET /v1/diagnostics has a short form of the storage, and counts nothing.', async () => {
  const given = await testRuntime(scripted());
  const { storage } = (await apiOf(given)('GET', '/v1/diagnostics')).json() as Diagnostics;
  const counted = /^(tables|blobs_bytes|logs_bytes|oldest_seq|counted_at)$/;
  const known = Object.keys(await storageOf(given)).filter((name) => !counted.test(name));
  expect(Object.keys(storage).toSorted()).toEqual(
    [...known, 'checkpoints', 'group_size', 'sync_us'].toSorted(),
  );
});

test('A backup is a file with its length and the seq up to which it is complete.', async () => {
  const given = await testRuntime(scripted());
  const other = testDirectory();
  await openSession(given.client, given.directory);
  const file = path.join(other, 'copy');
  const { headers, statusCode } = await saveBackup(given, file);
  expect([statusCode, headers['content-type']]).toEqual([200, 'application/octet-stream']);
  expect(Number(headers['content-length'])).toBe(fs.statSync(file).size);
  const { storage } = await given.client.call(endpoints.getDiagnostics, {});
  expect(Number(headers['x-seq'])).toBe(storage.latest_seq);
  expect(headers['x-epoch']).toMatch(/^epoch_/);
});

test('A server starts on a backup that was made during turns, with the same log and another epoch.', async () => {
  const { given, client, directory } = await testRuntime(scripted());
  const other = testDirectory();
  const { id } = await openSession(client, directory);
  await runTurn(client, id, 'before');
  const under = Promise.all(
    Array.from({ length: 8 }, async () => {
      const session = await openSession(client, directory);
      for (let turn = 0; turn < 5; turn++) await runTurn(client, session.id, 'meanwhile');
    }),
  );
  const { headers } = await saveBackup(given, path.join(other, 'events.cadre'));
  await under;
  const seq = Number(headers['x-seq']);
  const all = await client.call(endpoints.replayEvents, { query: { limit: 10_000 } });
  const copy = await testRuntime({ ...scripted(), directory: other });
  const found = await copy.client.call(endpoints.replayEvents, { query: { limit: 10_000 } });
  const upTo = (events: typeof all) => settle(events.filter((event) => event.seq <= seq));
  expect(upTo(found)).toEqual(upTo(all));
  const version = await copy.client.call(endpoints.getVersion, {});
  expect(version.epoch).not.toBe(headers['x-epoch']);
  const recovery = await copy.client.call(endpoints.getRecovery, {});
  expect(recovery).toMatchObject({ previous_stop: 'unclean', orphans_killed: [] });
});

test('A backup leaves nothing behind if the client hangs up in the middle, and can be requested again.', async () => {
  const own = testDirectory();
  // More than the sockets between a server and a client hold.
  asDataDirectory(own);
  await writeAnswers(own, 1, 'x'.repeat(12_000_000));
  const { given, client, directory } = await testRuntime({ ...scripted(), directory: own });
  const files = fs.readdirSync(directory);
  for (let round = 0; round < 3; round++) {
    const { request, response } = await askBackup(given);
    response.on('error', () => undefined);
    await once(response, 'readable');
    request.destroy();
  }
  await expectEventually(async () => openFiles('/backup-')).toEqual([]);
  expect(fs.readdirSync(directory)).toEqual(files);
  const before = (await client.call(endpoints.getDiagnostics, {})).storage.checkpoints;
  const metadata = 'x'.repeat(250_000);
  for (let i = 0; i < 16; i++) await openSession(client, directory, { metadata });
  const after = (await client.call(endpoints.getDiagnostics, {})).storage.checkpoints;
  expect(after).toBeGreaterThan(before);
  const other = testDirectory();
  await saveBackup(given, path.join(other, 'copy'));
});

test('A backup leaves nothing behind if the client hangs up before the response.', async () => {
  const { given, url, token, directory } = await testRuntime(scripted());
  const files = fs.readdirSync(directory);
  for (let round = 0; round < 5; round++) {
    const request = http.request(new URL('/v1/storage/backup', url), {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${token}` },
    });
    request.on('error', () => undefined);
    request.end();
    await once(request, 'finish');
    request.destroy();
  }
  const again = async () =>
    (await send(url, { method: 'POST', path: '/v1/storage/backup', headers: auth(token) })).status;
  await expectEventually(again).toBe(200);
  await expectEventually(async () => fs.readdirSync(directory)).toEqual(files);
  expect(given.logLines().filter(({ level }) => Number(level) >= 50)).toEqual([]);
});

test('A backup is refused to a token with the scope read, and with an Idempotency-Key.', async () => {
  const { given, client, token } = await testRuntime(scripted());
  const read = await client.call(endpoints.createToken, {
    body: { name: 'eyes', scope: 'read' },
  });
  const ask = (headers: Record<string, string>) =>
    send(given.url, { method: 'POST', path: '/v1/storage/backup', headers });
  expect((await ask(auth(read.secret))).json()).toMatchObject({ code: 'forbidden_scope' });
  const keyed = await ask({ ...auth(token), 'idempotency-key': 'one' });
  expect([keyed.status, keyed.json()]).toMatchObject([400, { code: 'invalid' }]);
});

/** Keeps answers in the store of a directory on which no runtime works, without a request for each. */
async function writeAnswers(directory: string, count: number, answer: string): Promise<void> {
  const db = await openDatabase(directory);
  const insert = db.prepare(
    "INSERT INTO idempotency (key, fingerprint, status, answer, created_at) VALUES (?, '', 200, ?, ?)",
  );
  await db.transact((tx) => {
    for (let i = 0; i < count; i++) insert.run(tx, `key-${i}`, answer, Date.now());
  });
  await db.close();
}

function auth(token: string) {
  return { authorization: `Bearer ${token}` };
}

/** Returns the paths of all open files of this process that contain a text, including deleted files. */
function openFiles(text: string): string[] {
  return fs.readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = fs.readlinkSync(`/proc/self/fd/${fd}`);
      return target.includes(text) ? [target] : [];
    } catch {
      // Closed since.
      return [];
    }
  });
}
