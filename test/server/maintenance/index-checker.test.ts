import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { silentLog } from '../../../src/core/lib/log.ts';
import { IndexChecker } from '../../../src/server/maintenance/index-checker.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { apiOf } from '../../support/http/request.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { testRuntime } from '../../support/runtime.ts';
import { scripted } from '../../support/scripted-provider.ts';
import { DATABASE_FILE, query, freshStore } from '../../support/store.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';

const INDEX_LEAF = 10;
/** Flips one bit of a value in each page of an index that contains it. */
function damageIndex(directory: string, value: string): void {
  const file = path.join(directory, DATABASE_FILE);
  const bytes = fs.readFileSync(file);
  const size = bytes.readUInt16BE(16);
  for (let page = 0; page < bytes.length; page += size) {
    const at = bytes.subarray(0, page + size).lastIndexOf(value);
    if (bytes[page] === INDEX_LEAF && at > page) bytes[at + 1]! ^= 1;
  }
  fs.writeFileSync(file, bytes);
}

test('A minute after the start, health names an index that has lost a row, and the log says what to do.', async () => {
  const directory = testDirectory();
  const first = await testRuntime({ ...scripted(), directory });
  const { id } = await openSession(first.client, directory);
  await first.stop();
  damageIndex(directory, 'ready');
  const clock = new ManualClock();
  const server = await testRuntime({ ...scripted(), directory, clock });
  const api = apiOf(server);
  const store = async () =>
    ((await api('GET', '/v1/health')).json() as { checks: { store: object } }).checks.store;
  const list = (await api('GET', '/v1/sessions?status=ready')).json();
  expect(JSON.stringify(list)).not.toContain(id);
  expect(await store()).toEqual({ status: 'ok' });
  clock.advance(60_000);
  await expectEventually(store).toEqual({
    status: 'degraded',
    detail: expect.stringMatching(
      /index sessions_status of table sessions does not contain row 1/,
    ) as unknown,
  });
  await expectEventually(() => server.logLines()).toContainEqual(
    expect.objectContaining({
      index: 'sessions_status',
      msg: expect.stringMatching(/back up the database.*restore an older backup/) as unknown,
    }),
  );
});

test('A check that ends early stores its position, and the next one begins there and removes it.', async () => {
  const { store } = await freshStore();
  await store.db.transact((tx) => {
    for (let i = 0; i < 500; i++) store.write(tx, `sess_${i}`);
  });
  const clock = new ManualClock();
  const { db } = store;
  const checker = new IndexChecker({ db, clock, logger: silentLog() });
  const position = () =>
    query<[string]>(db, "SELECT value FROM meta WHERE key = 'index_check'")[0]?.[0];
  const ending = new AbortController();
  const run = checker.run(ending.signal);
  clock.advance(60_000);
  await expectEventually(position).toMatch(/^\{"table":"\w+","row":/);
  ending.abort();
  await run;
  await checker.run(new AbortController().signal);
  expect(position()).toBe('null');
  expect(db.damage.found).toEqual([]);
});
