import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import type { BodyInputOf } from '../../../../src/api/endpoint.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { runTurn } from '../../../support/turns.ts';
import { commit, git, read, type WorktreeHarness, write } from '../../../support/worktrees/work.ts';
import { fileAgents, writingTurn as turn } from './file-agents.ts';

const { openHarness } = fileAgents();

function fork(harness: WorktreeHarness, body: BodyInputOf<typeof endpoints.forkSession>) {
  const params = { session_id: harness.session };
  return harness.client.call(endpoints.forkSession, { params, body });
}

function rewind(harness: WorktreeHarness, turn_id: string) {
  const params = { session_id: harness.session };
  const body = { turn_id, files: true };
  return harness.client.call(endpoints.rewindSession, { params, body });
}

function filesIn(directory: string): Record<string, string> {
  const names = fs.readdirSync(directory, { recursive: true, encoding: 'utf8' });
  const files = names.filter(
    (name) => !name.startsWith('.git') && fs.lstatSync(path.join(directory, name)).isFile(),
  );
  return Object.fromEntries(files.toSorted().map((name) => [name, read(directory, name)]));
}

describe('a fork with files', () => {
  test('The worktree of a fork has the files from the end of the turn, as changes of their commit.', async () => {
    const harness = await openHarness();
    const { repo, client } = harness;
    const base = git(repo, 'rev-parse', 'HEAD');
    const first = await turn(harness, {
      'a.txt': 'crlf\r\nno end',
      'new/x.txt': 'new\n',
      'sub/b.txt': null,
    });
    await turn(harness, { 'a.txt': 'second\n', 'new/x.txt': null });
    commit(repo, 'later');
    const before = filesIn(repo);
    const forked = await fork(harness, { turn_id: first, worktree: true, files: true });
    expect(filesIn(forked.cwd)).toEqual({ 'a.txt': 'crlf\r\nno end', 'new/x.txt': 'new\n' });
    expect(git(forked.cwd, 'rev-parse', 'HEAD')).toBe(base);
    expect(git(forked.cwd, 'status', '--porcelain')).toBe(' M a.txt\n D sub/b.txt\n?? new/');
    expect(filesIn(repo)).toEqual(before);
    const worktree = await client.call(endpoints.getWorktree, {
      params: { worktree_id: forked.worktree_id ?? '' },
    });
    expect(worktree).toMatchObject({ status: 'active', source_session_id: forked.id });
  });

  test('The worktree of a fork without files has the commit of the directory.', async () => {
    const harness = await openHarness();
    await turn(harness, { 'a.txt': 'changed\n' });
    const forked = await fork(harness, { worktree: { worktree_name: 'other' } });
    expect(read(forked.cwd, 'a.txt')).toBe('one\n');
  });

  test('A fork with files is refused without a snapshot, and for an existing worktree, and opens nothing.', async () => {
    const harness = await openHarness();
    const { client, session: session_id } = harness;
    const first = await turn(harness, { 'a.txt': 'changed\n' });
    await fork(harness, { worktree: { worktree_name: 'taken' } });
    const request = { worktree: { worktree_name: 'taken' }, files: true };
    await expect(fork(harness, { turn_id: first, ...request })).rejects.toMatchObject(
      anError('conflict', 'taken'),
    );
    const named = { worktree: { base_ref: 'main' }, files: true };
    await expect(fork(harness, named)).rejects.toMatchObject(anError('invalid', 'base_ref'));
    await client.call(endpoints.setSnapshots, { params: { session_id }, body: { enabled: false } });
    await runTurn(client, session_id, '{}');
    const count = async () =>
      (await client.call(endpoints.listSessions, { query: { limit: 500 } })).length;
    const before = await count();
    await expect(fork(harness, { worktree: true, files: true })).rejects.toMatchObject(
      anError('not_found', 'has no file snapshot of the end of turn'),
    );
    expect(await count()).toBe(before);
  });
});

describe('a rewind with files', () => {
  test('A rewind restores files that turns changed, created and deleted, and leaves all other files, the commit and the index.', async () => {
    const harness = await openHarness();
    const { repo } = harness;
    write(repo, { '.gitignore': 'out\n' });
    commit(repo, 'ignore');
    const first = await turn(harness, { 'a.txt': 'first\n', 'kept.txt': 'kept\n' });
    await turn(harness, {
      'a.txt': 'second\n',
      'kept.txt': null,
      'new/x.txt': 'x\n',
      'out/o': 'o',
    });
    write(repo, { 'mine.txt': 'of a person\n' });
    const head = git(repo, 'rev-parse', 'HEAD');
    const rewound = await rewind(harness, first);
    expect(rewound.cwd).toBe(repo);
    expect(filesIn(repo)).toEqual({
      'a.txt': 'first\n',
      'kept.txt': 'kept\n',
      'mine.txt': 'of a person\n',
      'out/o': 'o',
      'sub/b.txt': 'two\n',
    });
    expect(git(repo, 'rev-parse', 'HEAD')).toBe(head);
    expect(git(repo, 'diff', '--cached', '--name-only')).toBe('');
  });

  test('A rewind is refused, and changes nothing, if a person changed a file that it would restore.', async () => {
    const harness = await openHarness();
    const { repo, client, session: session_id } = harness;
    const first = await turn(harness, { 'a.txt': 'first\n' });
    await turn(harness, { 'a.txt': 'second\n', 'new.txt': 'new\n' });
    write(repo, { 'a.txt': 'mine\n', 'other.txt': 'mine\n' });
    const before = filesIn(repo);
    await expect(rewind(harness, first)).rejects.toMatchObject(
      anError('conflict', 'because a.txt changed between turns too'),
    );
    expect(filesIn(repo)).toEqual(before);
    const params = { session_id };
    expect((await client.call(endpoints.getSession, { params })).status).toBe('ready');
  });

  test('A rewind is refused if the newest turn has no snapshot.', async () => {
    const harness = await openHarness();
    const { client, session: session_id } = harness;
    const first = await turn(harness, { 'a.txt': 'first\n' });
    const params = { session_id };
    await client.call(endpoints.setSnapshots, { params, body: { enabled: false } });
    await runTurn(client, session_id, '{"a.txt":"second"}');
    await expect(rewind(harness, first)).rejects.toMatchObject(
      anError('conflict', 'the origin of later changes is unknown'),
    );
  });

  test('A rewind is refused for a file whose content Git LFS stores.', async () => {
    const harness = await openHarness();
    const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n';
    const first = await turn(harness, { 'a.txt': pointer });
    await turn(harness, { 'a.txt': 'second\n' });
    await expect(rewind(harness, first)).rejects.toMatchObject(anError('conflict', 'Git LFS'));
  });
});
