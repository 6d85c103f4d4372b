import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectError } from '../../support/an-error.ts';
import { ANCHOR_FILE } from '../../../src/core/store/anchor.ts';
import { type CheckReport, checkStore } from '../../../src/core/store/check.ts';
import { RecordTable } from '../../../src/core/store/records.ts';
import type { Writer } from '../../../src/core/store/transaction.ts';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import { DATABASE_FILE, openStore, type TestStore, WAL_FILE } from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';

const PAGE = 4096;

/** Makes a store that `prepare` writes to and `damage` changes; returns the report of its check. */
async function checked(
  prepare: (store: TestStore, tx: Writer) => void,
  damage: (file: string) => void = () => undefined,
): Promise<CheckReport & { problems: string[] }> {
  await using directory = tempDirectory();
  {
    await using store = await openStore(directory.path);
    await store.db.transact((tx) => {
      for (let i = 0; i < 200; i++) store.write(tx, `note-${i}`, 'y'.repeat(300));
      prepare(store, tx);
    });
  }
  const file = path.join(directory.path, DATABASE_FILE);
  damage(file);
  const before = fs.readFileSync(file);
  const progress: string[] = [];
  try {
    const report = await checkStore({
      file,
      wasm: sqlWasm,
      version: '1.0.0',
      signal: new AbortController().signal,
      onProgress: (table) => void progress.push(table),
    });
    expect(progress).toEqual(expect.arrayContaining(['structure']));
    const problems = report.damage.map(({ table, row, problem }) => `${table} ${row}: ${problem}`);
    for (const line of problems) expect(line).toMatch(/: stop the server and restore a backup$/);
    return { ...report, problems };
  } finally {
    expect(fs.readFileSync(file).equals(before)).toBe(true);
    expect(fs.readdirSync(directory.path)).toEqual([DATABASE_FILE, ANCHOR_FILE]);
  }
}

function run(sql: string) {
  return ({ db }: TestStore, tx: Writer) => void db.prepare(sql).run(tx);
}

function overwrite(file: string, at: number, bytes: string): void {
  const fd = fs.openSync(file, 'r+');
  fs.writeSync(fd, bytes, at);
  fs.closeSync(fd);
}

const rowsOf = ({ tables }: CheckReport) =>
  Object.fromEntries(tables.map(({ name, rows }) => [name, rows]));

test('The check of an intact store finds nothing, and counts the rows.', async () => {
  const report = await checked(() => undefined);
  expect(report.problems).toEqual([]);
  expect(rowsOf(report)).toMatchObject({ events: 200, sessions: 200, deltas: 0, tokens: 0 });
});

test('The check finds a changed byte of a record.', async () => {
  const report = await checked(
    () => undefined,
    (file) => {
      const at = fs.readFileSync(file).lastIndexOf('"note-7"');
      overwrite(file, at + 1, 'N');
    },
  );
  expect(report.problems).toEqual([
    expect.stringMatching(/^(events|sessions) \d+: the row differs from what was written: /),
  ]);
});

test('The check finds a changed checksum, and an intact record in the wrong row.', async () => {
  const report = await checked((store, tx) => {
    run('UPDATE events SET sum = sum + 1 WHERE seq = 9')(store, tx);
    run("UPDATE sessions SET id = 'another' WHERE n = 5")(store, tx);
  });
  expect(report.problems).toEqual([
    expect.stringMatching(/^events 9: the row differs from what was written/),
    expect.stringMatching(/^sessions 5: the row differs from what was written/),
  ]);
});

test('The check compares the id of a goal with its session, and finds a goal in the row of another session.', async () => {
  type Goal = { id: string; session_id: string };
  const goal = (session_id: string): Goal => ({ id: `goal_of_${session_id}`, session_id });
  const insert = (row: (session: string) => string) => (store: TestStore, tx: Writer) => {
    const goals = new RecordTable<Goal>(store.db, 'goals', (one) => row(one.session_id));
    for (const session of ['one', 'two']) goals.insert(tx, goal(session));
  };
  expect((await checked(insert((session) => session))).problems).toEqual([]);
  expect((await checked(insert((session) => `not-${session}`))).problems).toEqual([
    expect.stringContaining('goals 1: the record has the id "one"'),
    expect.stringContaining('goals 2: the record has the id "two"'),
  ]);
});

test('The check reports a hundred corrupt rows of a table, and the number of the others.', async () => {
  const report = await checked(run('UPDATE events SET sum = sum + 1'));
  expect(report.problems).toHaveLength(101);
  expect(report.problems.at(-1)).toMatch(/^events null: 100 more rows are corrupt/);
});

test.for<[what: string, sql: string, problems: RegExp]>([
  [
    'a last sequence number that is lost',
    'DELETE FROM sequence',
    /^sequence null: the last sequence number cannot be read/,
  ],
  [
    'a number beyond the last one of the sequence',
    'UPDATE events SET seq = 999 WHERE seq = 200',
    /^events 999: the sequence number is greater than the last one of the sequence/,
  ],
  [
    'an event and a delta with one number',
    'INSERT INTO deltas SELECT *, NULL FROM events WHERE seq = 3',
    /^deltas 3: an event has the same sequence number/,
  ],
])('The database check finds %s.', async ([, sql, problems]) => {
  expect((await checked(run(sql))).problems).toContainEqual(expect.stringMatching(problems));
});

test('The check finds an active turn that does not exist.', async () => {
  const report = await checked(({ notes }, tx) => {
    const found = notes.get(tx, 'note-3');
    if (found) notes.update(tx, { ...found, active_turn_id: 'turn_gone' });
  });
  expect(report.problems).toEqual([
    expect.stringMatching(/^sessions 4: the active turn does not exist/),
  ]);
});

test('The check finds an overwritten page, and continues with other tables.', async () => {
  const report = await checked(
    () => undefined,
    (file) => {
      const at = Math.floor(fs.readFileSync(file).lastIndexOf('"note-7"') / PAGE) * PAGE;
      overwrite(file, at, 'nonsense');
    },
  );
  expect(report.problems[0]).toMatch(/^(events|sessions) null: Tree \d+ page \d+: /);
  expect(report.problems.at(-1)).toMatch(/^(events|sessions) null: some rows cannot be read/);
  expect(rowsOf(report)).toHaveProperty('turns', 0);
});

test('The check of a table with a page that contains itself ends, and reports the table.', async () => {
  const { problems } = await checked(
    () => undefined,
    (file) => {
      const bytes = fs.readFileSync(file);
      const hasNotes = (page: number) =>
        bytes.subarray((page - 1) * PAGE, page * PAGE).includes('{"id":"note-');
      const all = Array.from({ length: bytes.length / PAGE }, (_, i) => i * PAGE);
      const inner = all.find((at) => bytes[at] === 5 && childrenOf(bytes, at).some(hasNotes)) ?? 0;
      const [, second = 0] = childrenOf(bytes, inner);
      bytes.copy(bytes, (second - 1) * PAGE, inner, inner + PAGE);
      fs.writeFileSync(file, bytes);
    },
  );
  expect(problems).toContainEqual(
    expect.stringMatching(/^sessions \d+: the row was found out of order/),
  );
});

/** The numbers of the children of an inner page of a table, without the last one. */
function childrenOf(bytes: Buffer, page: number): number[] {
  const cells = bytes.readUInt16BE(page + 3);
  return Array.from({ length: cells }, (_, i) =>
    bytes.readUInt32BE(page + bytes.readUInt16BE(page + 12 + 2 * i)),
  );
}

test('The check finds an empty index whose page is one of a table.', async () => {
  const { problems } = await checked(
    () => undefined,
    (file) => {
      const bytes = fs.readFileSync(file);
      // An empty page of an index begins like one of a table, but for its kind.
      const all = Array.from({ length: bytes.length / PAGE }, (_, i) => i * PAGE);
      for (const at of all)
        if (bytes[at] === 10 && bytes.readUInt16BE(at + 3) === 0) bytes[at] = 13;
      fs.writeFileSync(file, bytes);
    },
  );
  expect(problems).toContainEqual(expect.stringMatching(/^turns null: some rows cannot be read/));
});

test('The check finds a changed id, in its row and as an entry that its index lacks.', async () => {
  const report = await checked(
    () => undefined,
    (file) => {
      const bytes = fs.readFileSync(file);
      // The id in the row: the id in the record has quotes.
      const at = [...bytes.toString('latin1').matchAll(/note-55(?!["\d])/g)].at(-1)?.index ?? 0;
      overwrite(file, at, 'nOte');
    },
  );
  expect(report.problems).toEqual([
    expect.stringMatching(/^sessions 56: row 56 missing from index sqlite_autoindex_sessions_1: /),
    expect.stringMatching(/^sessions 56: the row differs from what was written: /),
  ]);
});

test.for<[what: string, damage: (file: string) => void, message: RegExp]>([
  [
    'was cut off',
    (file) => fs.truncateSync(file, 10 * PAGE),
    /cannot read .* as a database of cadre.*malformed/,
  ],
  ['is no database', (file) => fs.writeFileSync(file, 'x'.repeat(PAGE)), /not a database/],
  ['is empty', (file) => fs.writeFileSync(file, ''), /is empty/],
  [
    'holds zeros alone',
    (file) => fs.writeFileSync(file, Buffer.alloc(PAGE)),
    /as a database of cadre|not a database of cadre/,
  ],
])('The check refuses a file that %s, and says what to do.', async ([, damage, message]) => {
  await expectError(
    checked(() => undefined, damage),
    'storage_damaged',
    message,
  );
});

test('The check refuses a file of a newer version, and names that version.', async () => {
  const newer = (store: TestStore, tx: Writer) => {
    run("UPDATE meta SET value = '9.9.9' WHERE key = 'written_by'")(store, tx);
    run('PRAGMA user_version = 99')(store, tx);
  };
  await expect(checked(newer)).rejects.toMatchObject({
    message: expect.stringMatching(/data format 99 of cadre 9\.9\.9.*use the newer version/),
  });
});

test('The check reads the write-ahead log of the file, and does not change it.', async () => {
  await using directory = tempDirectory();
  await using copy = tempDirectory();
  await using store = await openStore(directory.path);
  for (let i = 0; i < 30; i++) await store.db.transact((tx) => store.write(tx, `note-${i}`));
  for (const name of [DATABASE_FILE, WAL_FILE])
    fs.copyFileSync(path.join(directory.path, name), path.join(copy.path, name));
  const wal = fs.readFileSync(path.join(copy.path, WAL_FILE));
  const report = await checkStore({
    file: path.join(copy.path, DATABASE_FILE),
    wasm: sqlWasm,
    version: '1.0.0',
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  expect([report.damage, rowsOf(report).events]).toEqual([[], 30]);
  expect(fs.readFileSync(path.join(copy.path, WAL_FILE)).equals(wal)).toBe(true);
});
