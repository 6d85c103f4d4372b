import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import { SideFile } from '../../../src/core/store/side-file.ts';
import { Blobs } from '../../../src/server/conversations/sessions/blobs.ts';
import { checkIndex } from '../../../src/server/conversations/search/check-index.ts';
import { checkLogs } from '../../../src/server/work/processes/check-logs.ts';
import { LogFile } from '../../../src/server/work/processes/log-file.ts';
import { cadreOn, type Ended } from '../../support/cli/cadre.ts';
import { withDemo } from '../../support/demo-server.ts';
import { Gate, printed, ranTo, run } from '../../support/processes/work.ts';
import type { TestRuntime } from '../../support/runtime.ts';
import { type TestServer, testServer } from '../../support/server.ts';
import { testSearch } from '../../support/search.ts';
import { shared } from '../../support/shared.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';
import { openSession, runTurn } from '../../support/turns.ts';

const signal = new AbortController().signal;

/** Adds turns, a search index and a process with output to a server. */
async function fill(server: TestRuntime | TestServer): Promise<string> {
  const { client, directory } = server;
  const { id } = await openSession(client, directory);
  for (const word of ['one', 'two', 'three']) await runTurn(client, id, `say hello ${word}`);
  const { process_id } = await ranTo(server, 'echo one; echo two >&2');
  await client.call(endpoints.search, { query: { q: 'hello' } });
  return process_id;
}

/** The data directory of a server that has stopped, and the id of its process. */
const stopped = shared<{ directory: string; processId: string }>('stopped server', async (use) => {
  await using own = tempDirectory('server');
  const processId = await withDemo(fill, { directory: own.path });
  await use({ directory: own.path, processId });
});

type Cadre = (args: readonly string[]) => Promise<Ended>;

/** Runs a test with a copy of such a directory, and the path of the stdout of its process. */
function copyStopped(): { directory: string; log: string; cadre: Cadre } {
  const { directory, processId } = stopped();
  const copy = testDirectory('server');
  fs.cpSync(directory, copy, { recursive: true });
  const log = path.join(copy, 'logs', `${processId}.stdout`);
  return { directory: copy, log, cadre: cadreOn({ directory: copy }) };
}

async function changeIndex(directory: string, sql: string): Promise<void> {
  const file = await SideFile.open({ directory, name: 'search.cadre', wasm: sqlWasm });
  file.exec(sql);
  file.close();
}

function flipBit(file: string, at: number): void {
  const bytes = fs.readFileSync(file);
  bytes[at]! ^= 1;
  fs.writeFileSync(file, bytes);
}

test('The check reads logs and the search index of a running server, and counts logs without checksums.', async () => {
  const server = await testServer();
  await fill(server);
  using gate = new Gate(server.directory);
  const running = await run(server, `echo more; ${gate.wait}`);
  await printed(server, running, 'more');
  const cadre = cadreOn(server);
  const { code, stdout } = await cadre(['db', 'check']);
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(
      /^Checked \d+ rows in \d+\.\d MiB, 3 logs \(1 without checksums\), \d+ texts of the search index: ok\n$/,
    ),
  ]);
  const report = (await cadre(['db', 'check', '--json'])).json();
  expect(report).toMatchObject({
    ok: true,
    logs: { files: 3, unverified: 1 },
    search: { state: 'checked' },
  });
  gate.open();
});

test('The check of a backup reads no logs and no search index.', async () => {
  const { directory, cadre } = copyStopped();
  const copy = path.join(directory, 'copy');
  await cadre(['db', 'backup', copy]);
  expect((await cadre(['db', 'check', copy, '--json'])).json()).toMatchObject({
    ok: true,
    logs: null,
    images: null,
    search: null,
  });
});

test('The check compares each stored image with the digest in its name.', async () => {
  const { directory, cadre } = copyStopped();
  const images = path.join(directory, 'blobs');
  const stored = new Blobs(images);
  const whole = await stored.saveFile(Buffer.from('whole'));
  const harmed = await stored.saveFile(Buffer.from('harmed'));
  const gone = await stored.saveFile(Buffer.from('a directory comes in its place'));
  fs.mkdirSync(path.join(images, '.draft-left'));
  expect((await cadre(['db', 'check'])).stdout).toMatch(/, 3 images, .*: ok\n$/);
  flipBit(harmed?.path ?? '', 2);
  fs.rmSync(gone?.path ?? '');
  fs.mkdirSync(gone?.path ?? '');
  const { code, stdout } = await cadre(['db', 'check']);
  const lines = [harmed, gone].map(
    (one) =>
      `blobs/${path.basename(one?.path ?? '')}: the file differs from what was stored: restore it from a copy`,
  );
  expect([code, stdout.split('\n').slice(0, 2).toSorted()]).toEqual([1, lines.toSorted()]);
  expect(stdout).not.toContain(path.basename(whole?.path ?? ''));
});

const logHarms: [name: string, harm: (log: string) => void][] = [
  ['a changed bit', (log) => flipBit(log, 1)],
  ['a missing end', (log) => fs.truncateSync(log, 2)],
  ['a pipe in its place', (log) => (fs.rmSync(log), fs.mkdirSync(log))],
  ['checksums alone', (log) => fs.rmSync(log)],
];

test.each(logHarms)('The check reports a log with %s and ends with 1.', async (_, harm) => {
  const { log, cadre } = copyStopped();
  harm(log);
  const { code, stdout } = await cadre(['db', 'check']);
  expect([code, stdout.split('\n')[0]]).toEqual([
    1,
    `logs/${path.basename(log)}: the log differs from what was written: restore it from a copy`,
  ]);
  const json = (await cadre(['db', 'check', '--json'])).json();
  expect(json).toMatchObject({
    ok: false,
    damage: [{ table: null, row: null, file: `logs/${path.basename(log)}` }],
  });
});

const indexHarms: [says: string, sql: string][] = [
  ['row \\d+ of docs is not what was written', 'UPDATE docs SET at = 1'],
  ['are missing', 'DELETE FROM docs WHERE doc = (SELECT min(doc) + 1 FROM docs)'],
  ['of places is not what was written', 'UPDATE places SET n = n + 1'],
  ['of shards is not what was written', 'UPDATE shards SET newest = 1'],
  ['no such table: docs', 'DROP TABLE docs'],
];

test.each(indexHarms)('The check reports damage in the search index: %s.', async (says, sql) => {
  const { directory, cadre } = copyStopped();
  await changeIndex(directory, sql);
  const before = fs.readFileSync(path.join(directory, 'search.cadre'));
  const { code, stdout } = await cadre(['db', 'check']);
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(
      new RegExp(`^search\\.cadre: .*${says}.*: stop the server and delete the file;`),
    ),
  ]);
  expect(fs.readFileSync(path.join(directory, 'search.cadre')).equals(before)).toBe(true);
});

test('The check skips a search index that the server will rebuild.', async () => {
  const { directory, cadre } = copyStopped();
  await changeIndex(directory, "UPDATE meta SET value = 'b' WHERE key = 'open_since_boot'");
  await changeIndex(directory, 'UPDATE docs SET at = 1');
  const { code, stdout } = await cadre(['db', 'check']);
  expect([code, stdout]).toEqual([0, expect.stringContaining('no search index (the server')]);
});

test('The check reads both ends of a shortened log, and the position of its end.', async () => {
  await using place = tempDirectory('logs');
  const log = path.join(place.path, 'proc_1.stdout');
  const file = new LogFile(log, 200_000);
  for (let at = 0; at < 20; at++) await file.append(Buffer.alloc(30_000, `${at} `));
  await file.close();
  const damagedBy = async (harm: () => void) => {
    harm();
    const damaged: string[] = [];
    const options = { signal, onProgress: () => undefined };
    const report = await checkLogs({
      logs: place.path,
      ...options,
      onDamage: (name) => damaged.push(name),
    });
    return [report.files, damaged];
  };
  expect(await damagedBy(() => undefined)).toEqual([1, []]);
  for (const [harmed, at] of [
    [log, 0],
    [log, 150_000],
    [log, 199_999],
    [`${log}.printed`, 20],
  ] as const) {
    expect(await damagedBy(() => flipBit(harmed, at))).toEqual([1, ['proc_1.stdout']]);
    expect(await damagedBy(() => flipBit(harmed, at))).toEqual([1, []]);
  }
});

test('The check of a search index that changes all the time reports that, and no damage.', async () => {
  const { open, say, built, service, directory } = await testSearch();
  await open('sess_a');
  await say('sess_a', 'apple');
  await built();
  await service.stop();
  await changeIndex(directory, 'UPDATE shards SET newest = 1');
  const file = path.join(directory, 'search.cadre');
  const damage: string[] = [];
  let writes = 0;
  const report = await checkIndex({
    directory,
    wasm: sqlWasm,
    bootId: '',
    signal,
    onProgress: () => fs.utimesSync(file, 0, ++writes),
    onDamage: (problem) => damage.push(problem),
  });
  expect([report?.state, damage]).toEqual(['changing', []]);
});
