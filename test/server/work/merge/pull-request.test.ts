import fs from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectError } from '../../../support/an-error.ts';
import type { BodyInputOf } from '../../../../src/api/endpoint.ts';
import { endpoints } from '../../../../src/api/index.ts';
import type { Worktree } from '../../../../src/api/worktrees.ts';
import { nameOf, withoutPassword } from '../../../../src/server/work/merge/pull-request.ts';
import { tempDirectory } from '../../../support/temp.ts';
import {
  commit,
  create,
  git,
  kindsOf,
  sharedWorktreeHarnesses,
  type WorktreeHarness,
  write,
} from '../../../support/worktrees/work.ts';

const openHarness = sharedWorktreeHarnesses();
const searchPath = process.env.PATH;
let programs: ReturnType<typeof tempDirectory>;

/** The file with the arguments of all calls of `gh`, one a line. */
const calls = () => path.join(programs.path, 'calls');

beforeAll(() => {
  programs = tempDirectory('gh');
  const gh = `#!/bin/sh
printf '%s\\n' "$@" >> ${programs.path}/calls
case "$*" in *--title\\ refused*) echo 'a pull request already exists' >&2; exit 1;; esac
case "$*" in *--title\\ split*) for i in $(seq 50); do printf '\\303' >&2; /bin/true; printf '\\244' >&2; done; exit 1;; esac
case "$*" in *--title\\ daemon*) setsid sleep 100 & esac
echo 'Creating pull request' >&2
echo https://github.com/ada/project/pull/7
`;
  fs.writeFileSync(path.join(programs.path, 'gh'), gh, { mode: 0o755 });
  process.env.PATH = `${programs.path}:${searchPath ?? ''}`;
});

afterAll(async () => {
  process.env.PATH = searchPath;
  await programs[Symbol.asyncDispose]();
});

async function working() {
  const harness = await openHarness();
  fs.rmSync(calls(), { force: true });
  const remote = path.join(harness.directory, 'remote.git');
  git(harness.directory, 'init', '-q', '--bare', remote);
  git(harness.repo, 'remote', 'add', 'origin', remote);
  git(harness.repo, 'push', '-q', 'origin', 'main');
  const tree = await create(harness);
  write(tree.path, { 'new.txt': 'new\n' });
  commit(tree.path, 'mine');
  return { harness, tree, remote };
}

function open(
  { client }: WorktreeHarness,
  { id }: Worktree,
  request: BodyInputOf<typeof endpoints.openPullRequest>,
) {
  return client.call(endpoints.openPullRequest, {
    params: { worktree_id: id },
    body: { dry_run: false, ...request },
  });
}

test('A pull request is shown first, pushes the branch only on request, and is opened with gh.', async () => {
  const { harness, tree, remote } = await working();
  const plan = await open(harness, tree, { dry_run: true, push: true });
  expect(plan).toMatchObject({
    outcome: 'planned',
    target: 'main',
    remote_url: remote,
    pushed: false,
    title: 'mine',
    body: '* mine',
    commits: [{ subject: 'mine' }],
    obstacles: [],
    url: null,
  });
  await expect(open(harness, tree, {})).rejects.toMatchObject({
    message: expect.stringContaining('push the branch, or request a push'),
  });
  expect(git(remote, 'branch', '--format=%(refname:short)')).toBe('main');
  expect(fs.existsSync(calls())).toBe(false);
  const { source_commit: expected_commit } = plan;
  const done = await open(harness, tree, { push: true, draft: true, expected_commit });
  expect(done).toMatchObject({
    outcome: 'done',
    pushed: true,
    url: 'https://github.com/ada/project/pull/7',
  });
  expect(git(remote, 'rev-parse', 'cadre/tree')).toBe(expected_commit);
  const said = fs.readFileSync(calls(), 'utf8').split('\n').slice(0, -1);
  expect([...said.slice(0, 2), ...said.slice(4)].join(' ')).toBe(
    'pr create --head cadre/tree --base main --title mine --body * mine --draft',
  );
  expect(await kindsOf(harness)).toContain('worktree.pull_request_opened');
});

test('The push of a pull request runs no hook and no program of the repository.', async () => {
  const { harness, tree, remote } = await working();
  const mark = path.join(harness.directory, 'ran');
  const hook = path.join(harness.repo, '.git/hooks/pre-push');
  fs.writeFileSync(hook, `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
  // Whoever can set the address of the remote can also put a repository there.
  for (const name of ['pre-receive', 'update', 'post-receive'])
    fs.copyFileSync(hook, path.join(remote, 'hooks', name));
  git(remote, 'config', 'core.alternateRefsCommand', `touch ${mark}; true`);
  fs.writeFileSync(path.join(remote, 'objects/info/alternates'), `${harness.repo}/.git/objects\n`);
  git(harness.repo, 'config', 'core.sshCommand', `touch ${mark}; false`);
  git(harness.repo, 'config', 'credential.helper', `!touch ${mark}`);
  git(harness.repo, 'config', 'remote.origin.receivepack', `touch ${mark}; git-receive-pack`);
  const plan = await open(harness, tree, { dry_run: true, push: true });
  expect(plan.notes).toEqual([expect.stringContaining('pre-push')]);
  await open(harness, tree, { push: true });
  git(harness.repo, 'remote', 'set-url', 'origin', `ext::touch ${mark}`);
  await expect(open(harness, tree, { push: true })).rejects.toMatchObject({
    message: expect.stringContaining("transport 'ext' not allowed"),
  });
  expect(fs.existsSync(mark)).toBe(false);
});

test('A pull request connects to the remote only after its address was shown.', async () => {
  const { harness, tree } = await working();
  let connections = 0;
  await using server = net.createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const address = `http://127.0.0.1:${port}/x.git`;
  git(harness.repo, 'remote', 'set-url', 'origin', address);
  const plan = await open(harness, tree, { dry_run: true, push: true });
  expect(plan).toMatchObject({ remote_url: address, pushed: false });
  const other = { push: true, expected_url: 'http://127.0.0.1/other.git' };
  await expectError(open(harness, tree, other), 'conflict');
  expect(connections).toBe(0);
  const shown = { push: true, expected_url: address };
  await expectError(open(harness, tree, shown), 'conflict');
  expect(connections).toBeGreaterThan(0);
});

test('A pull request reports an error of gh whose letters arrive in two parts.', async () => {
  const { harness, tree } = await working();
  await expect(open(harness, tree, { push: true, title: 'split' })).rejects.toMatchObject({
    message: `gh did not create a pull request: ${'ä'.repeat(50)}`,
  });
});

test('A pull request does not wait for a background process of gh that holds its output open.', async () => {
  const { harness, tree } = await working();
  const { url } = await open(harness, tree, { push: true, title: 'daemon' });
  expect(url).toBe('https://github.com/ada/project/pull/7');
});

test('A pull request reports the error of gh, and the error of a remote that refuses the push.', async () => {
  const { harness, tree, remote } = await working();
  await expect(open(harness, tree, { push: true, title: 'refused' })).rejects.toMatchObject({
    message: 'gh did not create a pull request: a pull request already exists',
  });
  git(tree.path, 'commit', '-q', '--amend', '-m', 'another');
  await expect(open(harness, tree, { push: true })).rejects.toMatchObject({
    message: expect.stringMatching(/remote\.git: .*rejected/),
  });
  expect(git(remote, 'log', '-1', '--format=%s', 'cadre/tree')).toBe('mine');
});

test('A pull request is refused with uncommitted changes, without gh, and without a remote.', async () => {
  const { harness, tree } = await working();
  write(tree.path, { 'new.txt': 'changed\n' });
  process.env.PATH = (searchPath ?? '')
    .split(':')
    .filter((one) => !fs.existsSync(path.join(one, 'gh')))
    .join(':');
  const plan = await open(harness, tree, { dry_run: true, push: true }).finally(() => {
    process.env.PATH = `${programs.path}:${searchPath ?? ''}`;
  });
  expect(plan.obstacles).toEqual([
    expect.stringContaining('uncommitted changes'),
    expect.stringContaining('gh auth login'),
  ]);
  await expectError(open(harness, tree, { remote: 'other' }), 'invalid');
});

test.for([
  ['https://github.com/ada/project.git', 'github.com/ada/project'],
  ['https://ada:secret@git.example.org:8443/ada/project', 'git.example.org/ada/project'],
  ['git@github.com:ada/project.git', 'github.com/ada/project'],
  ['ssh://git@github.com/ada/project.git', 'github.com/ada/project'],
  ['/srv/git/deep/project.git', '/srv/git/deep/project.git'],
] as const)('The remote %s has the name %s for gh.', ([address, name]) => {
  expect(nameOf(address)).toBe(name);
});

test('A password in the address of a remote is never shown.', () => {
  expect(withoutPassword('https://ada:secret@example.org/a/b')).toBe('https://example.org/a/b');
});
