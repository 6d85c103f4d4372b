import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { SqlValue } from '../../../../src/core/store/raw-statement.ts';
import { openDatabase } from '../../../support/database.ts';
import { type TestServer, testServer } from '../../../support/server.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession } from '../../../support/turns.ts';
import { branches, commit, makeRepository, write } from '../../../support/worktrees/work.ts';

const FAILING = { CADRE_FAILPOINTS: 'worktree.creating=throw' };

function setUp() {
  const place = testDirectory('unfinished');
  return { data: path.join(place, 'data'), repository: makeRepository(path.join(place, 'repo')) };
}

function create({ client }: TestServer, source_session_id: string) {
  return client.call(endpoints.createWorktree, {
    body: { source_session_id, worktree_name: 'one' },
  });
}

async function expectWork(server: TestServer, worktree: { id: string; path: string }) {
  const params = { worktree_id: worktree.id };
  expect(await server.client.call(endpoints.getWorktree, { params })).toMatchObject({
    status: 'active',
  });
  expect(fs.readFileSync(path.join(worktree.path, 'work.txt'), 'utf8')).toBe('work');
}

test('A creation that was not undone does not remove the later worktree of its name at the next start.', async () => {
  const { data, repository } = setUp();
  const server = await testServer({ directory: data, env: FAILING });
  const { id } = await openSession(server.client, repository);
  await expect(create(server, id)).rejects.toMatchObject({ code: 'internal' });
  const worktree = await create(server, id);
  write(worktree.path, { 'committed.txt': 'committed' });
  commit(worktree.path, 'a commit');
  write(worktree.path, { 'work.txt': 'work' });
  await server.end('SIGTERM');
  await expectWork(await testServer({ directory: data }), worktree);
  expect(branches(repository)).toContain(worktree.branch);
});

test('A start does not undo a creation whose directory another worktree has, as an older server has left it.', async () => {
  const { data, repository } = setUp();
  const failing = await testServer({ directory: data, env: FAILING });
  const { id } = await openSession(failing.client, repository);
  await expect(create(failing, id)).rejects.toMatchObject({ code: 'internal' });
  await failing.end('SIGKILL');
  const [left] = await run(data, 'SELECT id, record, sum FROM worktree_operations');
  const server = await testServer({ directory: data });
  const worktree = await create(server, id);
  write(worktree.path, { 'work.txt': 'work' });
  await server.end('SIGKILL');
  await run(data, 'INSERT INTO worktree_operations (id, record, sum) VALUES (?, ?, ?)', left);
  const last = await testServer({ directory: data });
  await expectWork(last, worktree);
  await last.end('SIGTERM');
  expect(await run(data, 'SELECT id FROM worktree_operations')).toEqual([]);
});

test('A start that completes the removal of a missing worktree releases its claims.', async () => {
  const { data, repository } = setUp();
  const env = { CADRE_FAILPOINTS: 'worktree.aside=kill' };
  const server = await testServer({ directory: data, env });
  const { id } = await openSession(server.client, repository);
  const worktree = await create(server, id);
  commit(worktree.path, 'a commit');
  fs.rmSync(worktree.path, { recursive: true });
  const params = { worktree_id: worktree.id };
  const restoring = server.client.call(endpoints.restoreWorktree, { params, body: {} });
  await expect(restoring).rejects.toBeInstanceOf(Error);
  const { client } = await testServer({ directory: data });
  expect(await client.call(endpoints.getWorktree, { params })).toMatchObject({
    status: 'cleaned',
    claims: [{ session_id: id, released_at: expect.any(Number) }],
  });
  const session = await client.call(endpoints.getSession, { params: { session_id: id } });
  expect(session.worktree_id).toBeNull();
});

test('A creation that a crash cut off leaves no branch, although its repository was absent at the next start.', async () => {
  const { data, repository } = setUp();
  const env = { CADRE_FAILPOINTS: 'worktree.added=kill' };
  const server = await testServer({ directory: data, env });
  const { id } = await openSession(server.client, repository);
  await expect(create(server, id)).rejects.toBeInstanceOf(Error);
  fs.renameSync(repository, `${repository}.away`);
  await (await testServer({ directory: data })).end('SIGTERM');
  fs.renameSync(`${repository}.away`, repository);
  const before = branches(repository);
  await (await testServer({ directory: data })).end('SIGTERM');
  expect(branches(repository)).toHaveLength(before.length - 1);
  expect(await run(data, 'SELECT id FROM worktree_operations')).toEqual([]);
});

async function run(data: string, sql: string, values: SqlValue[] = []): Promise<SqlValue[][]> {
  const db = await openDatabase(data);
  try {
    const statement = db.prepare(sql);
    return await db.transact((tx) => statement.all(tx, ...values));
  } finally {
    await db.close();
  }
}
