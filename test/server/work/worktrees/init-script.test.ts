import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectError } from '../../../support/an-error.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { carriersOf } from '../../../../src/core/children/procfs.ts';
import type { Worktree } from '../../../../src/api/worktrees.ts';
import type { WorktreeDependencies } from '../../../../src/server/work/worktrees/dependencies.ts';
import { runInitScript } from '../../../../src/server/work/worktrees/init-script.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import {
  branches,
  commit,
  create,
  events,
  get,
  git,
  kindsOf,
  known,
  read,
  type WorktreeHarness,
  write,
  testWorktreeHarness,
} from '../../../support/worktrees/work.ts';

const SCRIPT = '.cadre/worktree-init.sh';

function withScript({ repo }: WorktreeHarness, script: string, mode = 0o644): void {
  write(repo, { [SCRIPT]: script });
  fs.chmodSync(path.join(repo, SCRIPT), mode);
  commit(repo, 'with a script');
}

/** Expects that no worktree, branch, record or event is left. */
async function expectNothing(harness: WorktreeHarness): Promise<void> {
  expect([branches(harness.repo), known(harness.repo)]).toEqual([['main'], []]);
  expect(await harness.client.call(endpoints.listWorktrees, { query: {} })).toEqual([]);
  expect(await kindsOf(harness)).toEqual([]);
}

test('The init script runs in the new worktree with its names as variables, and the end of its output is stored.', async () => {
  const harness = await testWorktreeHarness();
  withScript(
    harness,
    'echo "$CADRE_WORKTREE_NAME $CADRE_WORKTREE_BRANCH"; echo out >&2; pwd > where\n',
  );
  const made = await create(harness, { run_init_script: true });
  expect(made.init_script).toMatchObject({ status: 'completed', exit_code: 0 });
  expect(made.init_script.output_tail).toContain('tree cadre/tree\n');
  expect(made.init_script.output_tail).toContain('out\n');
  expect(read(made.path, 'where').trim()).toBe(made.path);
});

test('An init script that cannot be started leaves no network of its sandbox open.', async () => {
  await using scratch = tempDirectory('init');
  const script = { content: Buffer.from('true\n'), sha256: 'a', isExecutable: false };
  const failure = new Error('cannot start a child');
  let isClosed = false;
  const deps = {
    supervisor: { start: () => Promise.reject(failure) },
    sandbox: { planFor: async () => null, closeNetwork: async () => void (isClosed = true) },
  } as unknown as WorktreeDependencies;
  const worktree = { path: scratch.path, repo_root: scratch.path, port_base: null } as Worktree;
  const about = { scratch: scratch.path, chosen: undefined };
  await expect(runInitScript(deps, worktree, script, about)).rejects.toBe(failure);
  expect(isClosed).toBe(true);
});

test('The stored end of the output of an init script begins with a whole character.', async () => {
  const harness = await testWorktreeHarness();
  withScript(harness, `echo ${'é'.repeat(3000)}\n`);
  const { init_script } = await create(harness, { run_init_script: true });
  expect(init_script.output_tail).toMatch(/^é+\n$/);
});

test('An init script in any language gets the environment of agents, and no variable of the server.', async () => {
  const harness = await testWorktreeHarness();
  const names = ['SOME_API_KEY', 'GITHUB_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'DATABASE_URL'];
  for (const name of names) process.env[name] = 'secret';
  try {
    withScript(harness, '#!/usr/bin/env -S cat /proc/self/environ\n', 0o755);
    const { init_script } = await create(harness, { run_init_script: true });
    expect(init_script.status).toBe('completed');
    for (const name of ['CADRE_WORKTREE_ID=', 'CADRE_SESSION_ID=', 'PATH='])
      expect(init_script.output_tail).toContain(name);
    expect(init_script.output_tail).not.toContain('secret');
  } finally {
    for (const name of names) delete process.env[name];
  }
});

test('The init script does not run if the request declines it.', async () => {
  const harness = await testWorktreeHarness();
  withScript(harness, 'touch ran; exit 1\n');
  const made = await create(harness, { run_init_script: false });
  expect(made.init_script.status).toBe('off');
  expect(fs.existsSync(path.join(made.path, 'ran'))).toBe(false);
});

test('An init script that fails leaves no worktree, and the refusal has the end of its output.', async () => {
  const harness = await testWorktreeHarness();
  withScript(harness, 'touch x; git commit -q --allow-empty -m x; echo no compiler; exit 3\n');
  await expectError(
    create(harness, { run_init_script: true }),
    'conflict',
    /exited with 3 \([\s\S]*no compiler\): fix the script/,
  );
  await expectNothing(harness);
  expect((await create(harness, { run_init_script: false })).created).toBe(true);
});

test('An init script is ended after ten minutes with its children, and leaves no worktree.', async () => {
  const clock = new ManualClock();
  const harness = await testWorktreeHarness({ clock });
  const started = path.join(harness.directory, 'started');
  withScript(harness, `sleep 300 & touch '${started}'; wait\n`);
  const making = create(harness, { run_init_script: true });
  const refused = making.catch((error: unknown) => error);
  await expectEventually(() => fs.existsSync(started)).toBe(true);
  clock.advance(10 * 60_000);
  // Ending a group looks again and again whether it is gone.
  const ticking = setInterval(() => clock.advance(100), 5);
  const error = await refused.finally(() => clearInterval(ticking));
  expect(error).toMatchObject({ message: expect.stringContaining('exceeded 10 minutes') });
  await expectNothing(harness);
  expect(carriersOf('CADRE_WORKTREE_NAME=tree')).toEqual([]);
});

const trust = ({ client }: WorktreeHarness, repo_root: string, sha256: string) =>
  client.call(endpoints.trustContent, { body: { repo_root, sha256 } });
const look = ({ client }: WorktreeHarness, repo_root: string) =>
  client.call(endpoints.lookAtBrought, { body: { repo_root } });
const hasRun = ({ path: place }: { path: string }) => fs.existsSync(path.join(place, 'ran'));

test('An init script that nobody allowed is skipped; record and event say how to allow it.', async () => {
  const harness = await testWorktreeHarness();
  withScript(harness, 'touch ran\n');
  const made = await create(harness);
  expect([made.created, hasRun(made)]).toEqual([true, false]);
  expect(made.init_script).toMatchObject({
    status: 'skipped_untrusted',
    exit_code: null,
    sha256: digestOf('touch ran\n'),
    how_to_allow: expect.stringContaining(`cadre worktrees trust --repo ${harness.repo}`),
  });
  const creation = (await events(harness)).find(({ kind }) => kind === 'worktree.created');
  expect(creation?.payload).toMatchObject({ worktree: { init_script: made.init_script } });
  expect((await get(harness, made)).init_script).toEqual(made.init_script);
});

test('An allowed init script runs until its content changes.', async () => {
  const harness = await testWorktreeHarness();
  withScript(harness, 'touch ran\n');
  const { brings } = await look(harness, harness.repo);
  const sha256 = digestOf('touch ran\n');
  expect(brings).toEqual([
    { kind: 'init_script', name: SCRIPT, sha256, text: 'touch ran\n', trusted: false },
  ]);
  const trusted = await trust(harness, harness.repo, sha256);
  expect(await trust(harness, harness.repo, sha256)).toEqual(trusted);
  const query = { repo_root: harness.repo };
  expect(await harness.client.call(endpoints.listTrusted, { query })).toEqual([trusted]);
  const first = await create(harness, { worktree_name: 'first' });
  expect([first.init_script.status, hasRun(first)]).toEqual(['completed', true]);
  expect((await look(harness, harness.repo)).brings[0]?.trusted).toBe(true);
  withScript(harness, 'touch ran; touch more\n');
  const second = await create(harness, { worktree_name: 'second' });
  expect([second.init_script.status, hasRun(second)]).toEqual(['skipped_untrusted', false]);
});

test('An allowed init script does not run in another repository, or after the permission is withdrawn.', async () => {
  const harness = await testWorktreeHarness();
  withScript(harness, 'touch ran\n');
  const other = path.join(harness.directory, 'other');
  git(harness.directory, 'clone', '--quiet', harness.repo, other);
  const sha256 = digestOf('touch ran\n');
  await trust(harness, other, sha256);
  expect((await create(harness)).init_script.status).toBe('skipped_untrusted');
  const there = await create(harness, { worktree_name: 'there', repo_root: other });
  expect(there.init_script.status).toBe('completed');
  const withdraw = (body: { repo_root: string; sha256?: string }) =>
    harness.client.call(endpoints.untrustContent, { body });
  expect((await withdraw({ repo_root: other })).withdrawn).toHaveLength(1);
  await expectError(withdraw({ repo_root: other, sha256 }), 'not_found');
  const after = await create(harness, { worktree_name: 'after', repo_root: other });
  expect(after.init_script.status).toBe('skipped_untrusted');
});

test('Only the committed init script of the main worktree runs, never an uncommitted one or one of the branch.', async () => {
  const harness = await testWorktreeHarness();
  withScript(harness, 'touch ran\n');
  git(harness.repo, 'checkout', '--quiet', '-b', 'pr-123');
  withScript(harness, 'touch hostile\n');
  git(harness.repo, 'checkout', '--quiet', 'main');
  write(harness.repo, { [SCRIPT]: 'touch uncommitted\n' });
  const request = { base_ref: 'pr-123', run_init_script: true };
  const made = await create(harness, request);
  const left = fs.readdirSync(made.path).filter((name) => !['.git', '.cadre'].includes(name));
  expect(left.toSorted()).toEqual(['a.txt', 'ran', 'sub']);
  git(harness.repo, 'rm', '--quiet', '--cached', SCRIPT);
  git(harness.repo, 'commit', '--quiet', '--message', 'without');
  const none = await create(harness, { worktree_name: 'none', run_init_script: true });
  expect(none.init_script.status).toBe('not_found');
});

test('A committed link in place of the init script does not run.', async () => {
  const harness = await testWorktreeHarness();
  fs.mkdirSync(path.join(harness.repo, '.cadre'));
  fs.symlinkSync('/bin/sh', path.join(harness.repo, SCRIPT));
  commit(harness.repo, 'a link');
  const refused = create(harness, { run_init_script: true });
  await expectError(refused, 'conflict');
  await expectNothing(harness);
});

test('Only a token with the scope admin can allow an init script.', async () => {
  const harness = await testWorktreeHarness();
  const body = { name: 'reader', scope: 'read' as const };
  const { secret } = await harness.client.call(endpoints.createToken, { body });
  const ask = (method: string, place: string) =>
    fetch(`${harness.url}/v1/worktree-trust${place}`, {
      method,
      headers: { authorization: `Bearer ${secret}` },
    });
  const answers = [
    await ask('GET', ''),
    await ask('POST', ''),
    await ask('POST', '/look'),
    await ask('POST', '/withdraw'),
  ];
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
});

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
