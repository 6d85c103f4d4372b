import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectError } from '../../../support/an-error.ts';
import type { BodyInputOf, QueryInputOf } from '../../../../src/api/endpoint.ts';
import type { AppError } from '../../../../src/api/errors.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { fileAgents, snapshotsOf, writingTurn as turn } from './file-agents.ts';
import { stateOf } from './state.ts';
import { openSession, runTurn } from '../../../support/turns.ts';
import { commit, git, read, type WorktreeHarness, write } from '../../../support/worktrees/work.ts';

const { openHarness } = fileAgents();

async function diff(
  harness: WorktreeHarness,
  query: QueryInputOf<typeof endpoints.getSessionDiff>,
) {
  const params = { session_id: harness.session };
  const { files, base } = await harness.client.call(endpoints.getSessionDiff, { params, query });
  return [base.turn_id, ...files.map((one) => `${one.status} ${one.path}`)];
}

function restore(harness: WorktreeHarness, body: BodyInputOf<typeof endpoints.restoreFile>) {
  const params = { session_id: harness.session };
  return harness.client.call(endpoints.restoreFile, { params, body });
}

test('A diff shows the changes of each turn, and no change of a person between turns as the change of a turn.', async () => {
  const { harness, client, repo, session } = await openHarness();
  write(repo, { '.gitignore': 'out\n', 'mine.txt': 'not committed\n' });
  const first = await turn(harness, { 'a.txt': 'agent\n', 'new.txt': 'new\n', 'out/x': 'x' });
  write(repo, { 'mine.txt': 'changed by the person\n' });
  commit(repo, 'by the person');
  const second = await turn(harness, { 'new.txt': null, 'sub/b.txt': 'agent\n' });
  expect(await diff(harness, { at: first })).toEqual([first, 'modified a.txt', 'added new.txt']);
  expect(await diff(harness, { at: second })).toEqual([
    second,
    'deleted new.txt',
    'modified sub/b.txt',
  ]);
  const sinceSecond = await diff(harness, { since: second });
  expect(sinceSecond).toEqual([second, 'deleted new.txt', 'modified sub/b.txt']);
  // Changes from before the first turn do not belong to the session.
  const all = [first, 'modified a.txt', 'modified mine.txt', 'modified sub/b.txt'];
  expect(await diff(harness, {})).toEqual(all);
  expect(await diff(harness, { since: first, at: second })).toEqual(all);
  const params = { session_id: session };
  const query = { turn_id: first, moment: 'end' as const };
  const { files } = await client.call(endpoints.listSessionFiles, { params, query });
  expect(files.map((one) => one.path)).toEqual([
    '.gitignore',
    'a.txt',
    'mine.txt',
    'new.txt',
    'sub/b.txt',
  ]);
});

test('A snapshot adds no ref, commit or object to the repository, and changes no index.', async () => {
  const { harness, repo } = await openHarness();
  write(repo, { 'staged.txt': 'staged\n' });
  git(repo, 'add', 'staged.txt');
  const before = stateOf(repo);
  await turn(harness, { 'a.txt': 'agent\n' });
  expect(stateOf(repo)).toBe(before);
});

test('No snapshot is taken while a person has switched them off for a session.', async () => {
  const { harness, client, session } = await openHarness();
  const params = { session_id: session };
  const set = (enabled: boolean | null) =>
    client.call(endpoints.setSnapshots, { params, body: { enabled } });
  expect(await set(false)).toMatchObject({ enabled: false, chosen: false, snapshots: [] });
  await runTurn(client, session, '{"a.txt":"agent"}');
  expect(await set(null)).toMatchObject({ enabled: true, chosen: null, snapshots: [] });
  await turn(harness, { 'a.txt': 'agent\n' });
});

test('A snapshot that fails stores the reason, and the turn runs.', async () => {
  const harness = await openHarness();
  const { id } = await openSession(harness.client, harness.directory);
  const { turn: ran } = await runTurn(harness.client, id, '{"a.txt":"agent"}');
  expect(ran.status).toBe('completed');
  const own = { ...harness, session: id };
  const problems = async () => (await snapshotsOf(own)).snapshots.map(({ problem }) => problem);
  const problem = expect.stringContaining('is not in a usable git repository');
  await expectEventually(problems).toEqual([problem, problem]);
  await expectError(diff(own, { at: ran.turn_id }), 'conflict', 'could not be taken');
});

test('A restored file has the bytes and the mode that it had at the end or beginning of a turn.', async () => {
  const { harness, repo } = await openHarness();
  const bytes = Buffer.from([0, 13, 10, 255, 10]).toString('latin1');
  const first = await turn(harness, { 'run.sh': 'first\r\nno end', 'new/a/b.txt': bytes });
  const second = await turn(harness, { 'run.sh': 'second\n', 'new/a/b.txt': null });
  fs.rmdirSync(path.join(repo, 'new/a'));
  expect(await restore(harness, { file: 'run.sh', turn_id: first })).toMatchObject({
    changed: true,
    kept_as: null,
  });
  expect(read(repo, 'run.sh')).toBe('first\r\nno end');
  const at = { turn_id: second, moment: 'start' as const };
  await restore(harness, { file: 'new/a/b.txt', ...at });
  expect(read(repo, 'new/a/b.txt')).toBe(Buffer.from(bytes).toString('latin1'));
  const again = await restore(harness, { file: 'new/a/b.txt', ...at });
  expect(again).toMatchObject({ changed: false });
  expect(git(repo, 'status', '--porcelain', '--untracked-files=all')).toBe(
    '?? new/a/b.txt\n?? run.sh',
  );
});

test('A restore replaces a file that a person changed only with force, and then keeps a copy.', async () => {
  const { harness, repo } = await openHarness();
  const first = await turn(harness, { 'a.txt': 'agent\n', 'sub/b.txt': 'agent\n' });
  write(repo, { 'a.txt': 'person\n' });
  const second = await turn(harness, { 'sub/b.txt': 'again\n' });
  write(repo, { 'sub/b.txt': 'person\n' });
  const between = restore(harness, { file: 'a.txt', turn_id: first });
  await expectError(between, 'conflict', `a.txt was changed between the end of turn ${first}`);
  const after = restore(harness, { file: 'sub/b.txt', turn_id: second });
  await expectError(after, 'conflict');
  expect([read(repo, 'a.txt'), read(repo, 'sub/b.txt')]).toEqual(['person\n', 'person\n']);
  const forced = await restore(harness, { file: 'sub/b.txt', turn_id: second, force: true });
  expect(read(repo, 'sub/b.txt')).toBe('again\n');
  expect(read(repo, forced.kept_as ?? '')).toBe('person\n');
});

test('A restore is refused for a path outside of the root, in .git, or without a file in the snapshot.', async () => {
  const harness = await openHarness();
  const turn_id = await turn(harness, { 'a.txt': 'agent\n' });
  const refused = (name: string) =>
    restore(harness, { file: name, turn_id, force: true }).catch(
      (error: unknown) => (error as AppError).code,
    );
  for (const name of ['../out', '.git/config', 'sub/.GIT/x', '/etc/passwd', 'sub//x', 'a\nb'])
    expect([name, await refused(name)]).toEqual([name, 'invalid']);
  for (const name of ['never.txt', 'sub'])
    expect([name, await refused(name)]).toEqual([name, 'conflict']);
});

test('A restore writes neither through a link nor over a directory or a FIFO.', async () => {
  const { harness, repo, directory } = await openHarness();
  const turn_id = await turn(harness, { 'dir/x.txt': 'agent\n', 'y.txt': 'agent\n' });
  const outside = path.join(directory, 'outside');
  write(outside, { 'x.txt': 'outside\n' });
  fs.rmSync(path.join(repo, 'dir'), { recursive: true });
  fs.symlinkSync(outside, path.join(repo, 'dir'));
  fs.rmSync(path.join(repo, 'y.txt'));
  fs.mkdirSync(path.join(repo, 'y.txt'));
  for (const name of ['dir/x.txt', 'y.txt'])
    await expectError(restore(harness, { file: name, turn_id, force: true }), 'conflict');
  expect(read(outside, 'x.txt')).toBe('outside\n');
  expect(fs.readdirSync(outside)).toEqual(['x.txt']);
  expect(fs.readdirSync(repo).toSorted()).toEqual(['.git', 'a.txt', 'dir', 'sub', 'y.txt']);
});

test('A restore writes symbolic links, and replaces a link without following it.', async () => {
  const { harness, repo, directory } = await openHarness();
  const target = path.join(directory, 'target');
  fs.writeFileSync(target, 'target\n');
  fs.symlinkSync(target, path.join(repo, 'link'));
  const first = await turn(harness, {});
  fs.rmSync(path.join(repo, 'link'));
  const second = await turn(harness, { link: 'a file\n' });
  await restore(harness, { file: 'link', turn_id: first, force: true });
  expect(fs.readlinkSync(path.join(repo, 'link'))).toBe(target);
  await restore(harness, { file: 'link', turn_id: second, force: true });
  expect(read(repo, 'link')).toBe('a file\n');
  expect(read(directory, 'target')).toBe('target\n');
});
