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
  type Stage,
  write,
  testStage,
} from '../../../support/worktrees/work.ts';

const SCRIPT = '.cadre/worktree-init.sh';

function withScript({ repo }: Stage, script: string, mode = 0o644): void {
  write(repo, { [SCRIPT]: script });
  fs.chmodSync(path.join(repo, SCRIPT), mode);
  commit(repo, 'with a script');
}

/** Expects that no worktree, branch, record or event is left. */
async function expectNothing(stage: Stage): Promise<void> {
  expect([branches(stage.repo), known(stage.repo)]).toEqual([['main'], []]);
  expect(await stage.client.call(endpoints.listWorktrees, { query: {} })).toEqual([]);
  expect(await kindsOf(stage)).toEqual([]);
}

test('The init script runs in the new worktree with its names as variables, and the end of its output is stored.', async () => {
  const stage = await testStage();
  withScript(
    stage,
    'echo "$CADRE_WORKTREE_NAME $CADRE_WORKTREE_BRANCH"; echo out >&2; pwd > where\n',
  );
  const made = await create(stage, { run_init_script: true });
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
  const stage = await testStage();
  withScript(stage, `echo ${'é'.repeat(3000)}\n`);
  const { init_script } = await create(stage, { run_init_script: true });
  expect(init_script.output_tail).toMatch(/^é+\n$/);
});

test('An init script in any language gets the environment of agents, and no variable of the server.', async () => {
  const stage = await testStage();
  const names = ['SOME_API_KEY', 'GITHUB_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'DATABASE_URL'];
  for (const name of names) process.env[name] = 'secret';
  try {
    withScript(stage, '#!/usr/bin/env -S cat /proc/self/environ\n', 0o755);
    const { init_script } = await create(stage, { run_init_script: true });
    expect(init_script.status).toBe('completed');
    for (const name of ['CADRE_WORKTREE_ID=', 'CADRE_SESSION_ID=', 'PATH='])
      expect(init_script.output_tail).toContain(name);
    expect(init_script.output_tail).not.toContain('secret');
  } finally {
    for (const name of names) delete process.env[name];
  }
});

test('The init script does not run if the request declines it.', async () => {
  const stage = await testStage();
  withScript(stage, 'touch ran; exit 1\n');
  const made = await create(stage, { run_init_script: false });
  expect(made.init_script.status).toBe('off');
  expect(fs.existsSync(path.join(made.path, 'ran'))).toBe(false);
});

test('An init script that fails leaves no worktree, and the refusal has the end of its output.', async () => {
  const stage = await testStage();
  withScript(stage, 'touch x; git commit -q --allow-empty -m x; echo no compiler; exit 3\n');
  await expectError(
    create(stage, { run_init_script: true }),
    'conflict',
    /exited with 3 \([\s\S]*no compiler\): fix the script/,
  );
  await expectNothing(stage);
  expect((await create(stage, { run_init_script: false })).created).toBe(true);
});

test('An init script is ended after ten minutes with its children, and leaves no worktree.', async () => {
  const clock = new ManualClock();
  const stage = await testStage({ clock });
  const started = path.join(stage.directory, 'started');
  withScript(stage, `sleep 300 & touch '${started}'; wait\n`);
  const making = create(stage, { run_init_script: true });
  const refused = making.catch((error: unknown) => error);
  await expectEventually(() => fs.existsSync(started)).toBe(true);
  clock.advance(10 * 60_000);
  // Ending a group looks again and again whether it is gone.
  const ticking = setInterval(() => clock.advance(100), 5);
  const error = await refused.finally(() => clearInterval(ticking));
  expect(error).toMatchObject({ message: expect.stringContaining('exceeded 10 minutes') });
  await expectNothing(stage);
  expect(carriersOf('CADRE_WORKTREE_NAME=tree')).toEqual([]);
});

const trust = ({ client }: Stage, repo_root: string, sha256: string) =>
  client.call(endpoints.trustContent, { body: { repo_root, sha256 } });
const look = ({ client }: Stage, repo_root: string) =>
  client.call(endpoints.lookAtBrought, { body: { repo_root } });
const hasRun = ({ path: place }: { path: string }) => fs.existsSync(path.join(place, 'ran'));

test('An init script that nobody allowed is skipped; record and event say how to allow it.', async () => {
  const stage = await testStage();
  withScript(stage, 'touch ran\n');
  const made = await create(stage);
  expect([made.created, hasRun(made)]).toEqual([true, false]);
  expect(made.init_script).toMatchObject({
    status: 'skipped_untrusted',
    exit_code: null,
    sha256: digestOf('touch ran\n'),
    how_to_allow: expect.stringContaining(`cadre worktrees trust --repo ${stage.repo}`),
  });
  const told = (await events(stage)).find(({ kind }) => kind === 'worktree.created');
  expect(told?.payload).toMatchObject({ worktree: { init_script: made.init_script } });
  expect((await get(stage, made)).init_script).toEqual(made.init_script);
});

test('An allowed init script runs until its content changes.', async () => {
  const stage = await testStage();
  withScript(stage, 'touch ran\n');
  const { brings } = await look(stage, stage.repo);
  const sha256 = digestOf('touch ran\n');
  expect(brings).toEqual([
    { kind: 'init_script', name: SCRIPT, sha256, text: 'touch ran\n', trusted: false },
  ]);
  const trusted = await trust(stage, stage.repo, sha256);
  expect(await trust(stage, stage.repo, sha256)).toEqual(trusted);
  const query = { repo_root: stage.repo };
  expect(await stage.client.call(endpoints.listTrusted, { query })).toEqual([trusted]);
  const first = await create(stage, { worktree_name: 'first' });
  expect([first.init_script.status, hasRun(first)]).toEqual(['completed', true]);
  expect((await look(stage, stage.repo)).brings[0]?.trusted).toBe(true);
  withScript(stage, 'touch ran; touch more\n');
  const second = await create(stage, { worktree_name: 'second' });
  expect([second.init_script.status, hasRun(second)]).toEqual(['skipped_untrusted', false]);
});

test('An allowed init script does not run in another repository, or after the permission is withdrawn.', async () => {
  const stage = await testStage();
  withScript(stage, 'touch ran\n');
  const other = path.join(stage.directory, 'other');
  git(stage.directory, 'clone', '--quiet', stage.repo, other);
  const sha256 = digestOf('touch ran\n');
  await trust(stage, other, sha256);
  expect((await create(stage)).init_script.status).toBe('skipped_untrusted');
  const there = await create(stage, { worktree_name: 'there', repo_root: other });
  expect(there.init_script.status).toBe('completed');
  const withdraw = (body: { repo_root: string; sha256?: string }) =>
    stage.client.call(endpoints.untrustContent, { body });
  expect((await withdraw({ repo_root: other })).withdrawn).toHaveLength(1);
  await expectError(withdraw({ repo_root: other, sha256 }), 'not_found');
  const after = await create(stage, { worktree_name: 'after', repo_root: other });
  expect(after.init_script.status).toBe('skipped_untrusted');
});

test('Only the committed init script of the main worktree runs, never an uncommitted one or one of the branch.', async () => {
  const stage = await testStage();
  withScript(stage, 'touch ran\n');
  git(stage.repo, 'checkout', '--quiet', '-b', 'pr-123');
  withScript(stage, 'touch hostile\n');
  git(stage.repo, 'checkout', '--quiet', 'main');
  write(stage.repo, { [SCRIPT]: 'touch uncommitted\n' });
  const request = { base_ref: 'pr-123', run_init_script: true };
  const made = await create(stage, request);
  const left = fs.readdirSync(made.path).filter((name) => !['.git', '.cadre'].includes(name));
  expect(left.toSorted()).toEqual(['a.txt', 'ran', 'sub']);
  git(stage.repo, 'rm', '--quiet', '--cached', SCRIPT);
  git(stage.repo, 'commit', '--quiet', '--message', 'without');
  const none = await create(stage, { worktree_name: 'none', run_init_script: true });
  expect(none.init_script.status).toBe('not_found');
});

test('A committed link in place of the init script does not run.', async () => {
  const stage = await testStage();
  fs.mkdirSync(path.join(stage.repo, '.cadre'));
  fs.symlinkSync('/bin/sh', path.join(stage.repo, SCRIPT));
  commit(stage.repo, 'a link');
  const refused = create(stage, { run_init_script: true });
  await expectError(refused, 'conflict');
  await expectNothing(stage);
});

test('Only a token with the scope admin can allow an init script.', async () => {
  const stage = await testStage();
  const body = { name: 'reader', scope: 'read' as const };
  const { secret } = await stage.client.call(endpoints.createToken, { body });
  const ask = (method: string, place: string) =>
    fetch(`${stage.url}/v1/worktree-trust${place}`, {
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
