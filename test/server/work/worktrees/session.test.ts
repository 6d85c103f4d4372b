import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { anError, expectError } from '../../../support/an-error.ts';
import type { BodyInputOf } from '../../../../src/api/endpoint.ts';
import { endpoints } from '../../../../src/api/index.ts';
import type { createSession } from '../../../../src/api/session-requests.ts';
import { scaled } from '../../../support/patience.ts';
import { testServer } from '../../../support/server.ts';
import { testDirectory } from '../../../support/temp.ts';
import { runTurn } from '../../../support/turns.ts';
import {
  branches,
  commit,
  git,
  makeRepository,
  type Server,
  sharedWorktreeHarnesses,
  write,
  testWorktreeHarness,
} from '../../../support/worktrees/work.ts';

const onShared = sharedWorktreeHarnesses();
type OpenRequest = Partial<BodyInputOf<typeof createSession>>;

function open({ client }: Server, body: OpenRequest) {
  return client.call(endpoints.createSession, { body: { provider: 'acp', ...body } });
}

test('A session opened with a worktree works in a new one and owns it.', async () => {
  const harness = await onShared();
  const session = await open(harness, { cwd: harness.repo, worktree: true });
  const worktree = await harness.client.call(endpoints.getWorktree, {
    params: { worktree_id: session.worktree_id ?? '' },
  });
  expect(worktree).toMatchObject({
    worktree_name: `session-${session.id.slice(-8)}`,
    repo_root: harness.repo,
    status: 'active',
    source_session_id: session.id,
    claims: [{ session_id: session.id, claim_role: 'owner', released_at: null }],
  });
  expect(session.cwd).toBe(fs.realpathSync(worktree.path));
  const { session_id, ...read } = { session_id: session.id, ...session };
  expect(await harness.client.call(endpoints.getSession, { params: { session_id } })).toEqual(read);
});

test('A session is not opened in a worktree unknown to git, and such a worktree is not claimed.', async () => {
  const harness = await onShared();
  const body = { cwd: harness.repo, worktree: { worktree_name: 'lost' } };
  const first = await open(harness, body);
  const link = path.join(harness.repo, '.git', 'worktrees', 'lost');
  const kept = `${link}-kept`;
  fs.renameSync(link, kept);
  const refused = anError('conflict', /lost is not registered with git/);
  await expect(open(harness, body)).rejects.toMatchObject(refused);
  const other = await open(harness, { cwd: harness.repo });
  const request = { source_session_id: other.id, worktree_name: 'lost' };
  await expect(
    harness.client.call(endpoints.createWorktree, { body: request }),
  ).rejects.toMatchObject(refused);
  const params = { worktree_id: first.worktree_id ?? '' };
  const claim = { session_id: other.id };
  await expect(
    harness.client.call(endpoints.claimWorktree, { params, body: claim }),
  ).rejects.toMatchObject(refused);
  fs.renameSync(kept, link);
  expect((await open(harness, body)).worktree_id).toBe(first.worktree_id);
});

test('A session with a worktree works in the same subdirectory, at the requested base and branch.', async () => {
  const harness = await onShared();
  write(harness.repo, { 'sub/b.txt': 'later\n' });
  commit(harness.repo, 'second');
  const { cwd } = await open(harness, {
    cwd: path.join(harness.repo, 'sub'),
    worktree: { worktree_name: 'old', base_ref: 'HEAD~1', branch_prefix: 'mine' },
  });
  expect(path.basename(cwd)).toBe('sub');
  expect(fs.readFileSync(path.join(cwd, 'b.txt'), 'utf8')).toBe('two\n');
  expect(git(cwd, 'symbolic-ref', '--short', 'HEAD')).toBe('mine/old');
});

test('A session shares an existing worktree, and works at its root if its own directory is in another repository.', async () => {
  const harness = await onShared();
  const first = await open(harness, { cwd: harness.repo, worktree: { worktree_name: 'shared' } });
  const second = await open(harness, {
    cwd: harness.directory,
    worktree: { worktree_name: 'shared', repo_root: 'repo' },
  });
  expect(second).toMatchObject({ cwd: first.cwd, worktree_id: first.worktree_id });
  const { claims } = await harness.client.call(endpoints.getWorktree, {
    params: { worktree_id: first.worktree_id ?? '' },
  });
  expect(claims.map(({ claim_role }) => claim_role)).toEqual(['owner', 'consumer']);
});

test('The agent of a session, and the processes of the agent, run in its worktree.', async () => {
  const { client, directory } = await testServer();
  const repo = makeRepository(path.join(directory, 'repo'));
  const session = await open({ client }, { cwd: path.join(repo, 'sub'), worktree: true });
  expect(session.cwd).not.toContain(repo);
  const said = async (text: string) => (await runTurn(client, session.id, text)).turn.text;
  expect(await said('cwd')).toBe(session.cwd);
  expect(fs.readlinkSync(`/proc/${await said('pid')}/cwd`)).toBe(session.cwd);
});

test.for<[why: string, more: OpenRequest, code: string, prepare?: (repo: string) => void]>([
  ['whose directory is in no repository', { cwd: '/', worktree: true }, 'invalid'],
  ['whose base does not exist', { worktree: { base_ref: 'nope' } }, 'invalid'],
  [
    'whose directory is not committed',
    { cwd: 'build', worktree: true },
    'conflict',
    (repo) => fs.mkdirSync(path.join(repo, 'build')),
  ],
  [
    'whose directory leads out of the worktree',
    { cwd: 'link', worktree: { base_ref: 'linked' } },
    'conflict',
    (repo) => {
      fs.symlinkSync('/tmp', path.join(repo, 'link'));
      commit(repo, 'a link');
      git(repo, 'tag', 'linked');
      fs.unlinkSync(path.join(repo, 'link'));
      fs.mkdirSync(path.join(repo, 'link'));
    },
  ],
])('A session %s is refused, and nothing is left.', async ([, { cwd, ...more }, code, prepare]) => {
  const harness = await testWorktreeHarness();
  prepare?.(harness.repo);
  const before = branches(harness.repo);
  const body = { ...more, cwd: path.resolve(harness.repo, cwd ?? '.') };
  await expect(open(harness, body)).rejects.toMatchObject({ code });
  expect(branches(harness.repo)).toEqual(before);
  const sessions = await harness.client.call(endpoints.listSessions, { query: {} });
  expect(sessions.map(({ id }) => id)).toEqual([harness.session]);
  const worktrees = await harness.client.call(endpoints.listWorktrees, { query: {} });
  expect(worktrees.filter(({ status }) => status !== 'cleaned')).toEqual([]);
});

test.each(['worktree.added', 'worktree.made'])(
  'A server that is killed at %s leaves nothing of the session, once it has started again.',
  { timeout: scaled(60_000) },
  async (point) => {
    const place = testDirectory('opening');
    const data = path.join(place, 'data');
    const repo = makeRepository(path.join(place, 'repo'));
    let server = await testServer({
      directory: data,
      env: { CADRE_FAILPOINTS: `${point}=kill` },
    });
    await expectError(open(server, { cwd: repo, worktree: true }), 'unreachable');
    await server.end('SIGKILL');
    server = await testServer({ directory: data });
    const { client } = server;
    const left = async () =>
      (await client.call(endpoints.listWorktrees, {})).filter(({ status }) => status !== 'cleaned');
    await expect.poll(left, { timeout: scaled(15_000) }).toEqual([]);
    expect(branches(repo)).toEqual(['main']);
    expect(await client.call(endpoints.listSessions, {})).toEqual([]);
  },
);
