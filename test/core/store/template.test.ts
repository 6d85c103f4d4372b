import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { DATABASE_FILE } from '../../../src/core/store/connection.ts';
import type { Database } from '../../../src/core/store/database.ts';
import { makeTemplate } from '../../../src/core/store/open.ts';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import { openDatabase } from '../../support/database.ts';
import { tempDirectory } from '../../support/temp.ts';

const template = await makeTemplate(sqlWasm);

/** Returns all tables, indexes and settings of a database. */
function schemaOf(db: Database): unknown {
  const all = (sql: string) => {
    const statement = db.prepare(sql);
    return db.peek((rx) => statement.all(rx));
  };
  return [
    all('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name'),
    all('PRAGMA user_version'),
    all('PRAGMA auto_vacuum'),
    all('PRAGMA journal_mode'),
  ];
}

async function withDatabase<T>(
  directory: string,
  options: Parameters<typeof openDatabase>[1],
  use: (db: Database) => T,
): Promise<T> {
  const db = await openDatabase(directory, options);
  try {
    return use(db);
  } finally {
    await db.close();
  }
}

test('A database from the template has the same tables as a created one, and its own epoch.', async () => {
  await using created = tempDirectory();
  await using copied = tempDirectory();
  await using other = tempDirectory();
  const read = (db: Database) => ({ schema: schemaOf(db), epoch: db.epoch });
  const a = await withDatabase(created.path, {}, read);
  const b = await withDatabase(copied.path, { template }, read);
  const c = await withDatabase(other.path, { template }, read);
  expect(b.schema).toEqual(a.schema);
  expect(b.epoch).toMatch(/^epoch_/);
  expect(c.epoch).not.toBe(b.epoch);
  expect(await withDatabase(copied.path, { template }, ({ epoch }) => epoch)).toBe(b.epoch);
});

test('Only the owner can read a database from the template.', async () => {
  await using directory = tempDirectory();
  await withDatabase(directory.path, { template }, () => undefined);
  expect(fs.statSync(path.join(directory.path, DATABASE_FILE)).mode & 0o777).toBe(0o600);
});

test('A partial copy that a crash has left is removed.', async () => {
  await using directory = tempDirectory();
  const half = path.join(directory.path, `${DATABASE_FILE}.new`);
  fs.writeFileSync(half, template.subarray(0, 5000));
  await withDatabase(directory.path, { template }, schemaOf);
  expect(fs.existsSync(half)).toBe(false);
});

test('Two templates of the same sources are equal byte for byte.', async () => {
  expect(Buffer.compare(await makeTemplate(sqlWasm), template)).toBe(0);
});

test('The tables are created if the template cannot be stored.', async () => {
  await using directory = tempDirectory();
  fs.mkdirSync(path.join(directory.path, `${DATABASE_FILE}.new`));
  const [tables] = (await withDatabase(directory.path, { template }, schemaOf)) as [unknown[]];
  expect(tables.length).toBeGreaterThan(20);
});
