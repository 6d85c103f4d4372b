import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { sha256Of } from '../../../../src/server/work/git/consent.ts';
import {
  branches,
  cleanUp,
  commit,
  create,
  git,
  known,
  read,
  release,
  restore,
  sharedWorktreeHarnesses,
  type WorktreeHarness,
  trustAll,
  write,
} from '../../../support/worktrees/work.ts';

const openHarness = sharedWorktreeHarnesses();
const PATTERNS = '.worktreeinclude';
const SECRET = 'TOKEN=of-a-person\n';

/** A repository that ignores `.env` and what lies in `local`, and names patterns of included files. */
function withPatterns({ repo }: WorktreeHarness, patterns = '.env\n'): void {
  write(repo, { [PATTERNS]: patterns, '.gitignore': '.env\n/local/\n' });
  commit(repo, 'with a list of included files');
  write(repo, { '.env': SECRET });
}

function there({ path: directory }: { path: string }, name: string): boolean {
  return fs.existsSync(path.join(directory, name));
}

/** Whether git keeps these bytes anywhere in a repository. */
function isKept(repo: string, content: string): boolean {
  const sha = execFileSync('git', ['hash-object', '--stdin'], {
    input: content,
    encoding: 'utf8',
  }).trim();
  const all = git(repo, 'cat-file', '--batch-all-objects', '--batch-check=%(objectname)');
  return all.split('\n').includes(sha);
}

test('The included files are copied with their modes before the init script runs, and the record counts them.', async () => {
  const harness = await openHarness();
  const script = '.cadre/worktree-init.sh';
  write(harness.repo, { [script]: 'cat .env\n' });
  withPatterns(harness, '.env\nlocal/*.key\n!local/not.key\n');
  write(harness.repo, { 'local/a.key': '', 'local/not.key': 'x', 'local/other': 'x' });
  fs.chmodSync(path.join(harness.repo, '.env'), 0o4750);
  const made = await create(harness, { copy_included: true, run_init_script: true });
  expect(made.init_script.output_tail).toBe(SECRET);
  expect(made.included).toEqual({
    status: 'completed',
    files: 2,
    bytes: SECRET.length,
    skipped: 0,
    sha256: sha256Of(read(harness.repo, PATTERNS)),
    how_to_allow: null,
  });
  expect(fs.readdirSync(path.join(made.path, 'local'))).toEqual(['a.key']);
  expect(fs.statSync(path.join(made.path, '.env')).mode & 0o7777).toBe(0o750);
  expect(git(made.path, 'status', '--short')).toBe('');
});

test('The included files are copied by default while the list is allowed and unchanged.', async () => {
  const harness = await openHarness();
  withPatterns(harness);
  const before = await create(harness, { worktree_name: 'before' });
  expect(before.included).toMatchObject({ status: 'skipped_untrusted', files: 0 });
  expect(before.included.how_to_allow).toContain(`cadre worktrees trust --repo ${harness.repo}`);
  expect(there(before, '.env')).toBe(false);
  const { brings } = await harness.client.call(endpoints.lookAtBrought, {
    body: { repo_root: harness.repo },
  });
  expect(brings).toMatchObject([
    { kind: 'included_files', name: PATTERNS, text: '.env\n', trusted: false },
  ]);
  await trustAll(harness, harness.repo);
  const allowed = await create(harness, { worktree_name: 'allowed' });
  expect(read(allowed.path, '.env')).toBe(SECRET);
  const declined = await create(harness, { worktree_name: 'declined', copy_included: false });
  expect([declined.included.status, there(declined, '.env')]).toEqual(['off', false]);

  write(harness.repo, { [PATTERNS]: '.env\n*.pem\n' });
  const uncommitted = await create(harness, { worktree_name: 'uncommitted' });
  expect(uncommitted.included.status).toBe('completed');
  commit(harness.repo, 'another list');
  const changed = await create(harness, { worktree_name: 'changed' });
  expect([changed.included.status, there(changed, '.env')]).toEqual(['skipped_untrusted', false]);
});

test('The included files come from the main worktree, and from no repository inside it.', async () => {
  const harness = await openHarness();
  withPatterns(harness, '**\n');
  write(harness.repo, { 'local/inner/.env': 'of another' });
  git(path.join(harness.repo, 'local/inner'), 'init', '--quiet');
  write(harness.repo, { untracked: 'not ignored' });
  const made = await create(harness, { copy_included: true });
  expect(made.included).toMatchObject({ files: 1, skipped: 0 });
  expect([there(made, '.env'), there(made, 'local'), there(made, 'untracked')]).toEqual([
    true,
    false,
    false,
  ]);
});

test('Links, existing files and files that are not ignored are left out of the included files.', async () => {
  const harness = await openHarness();
  const { repo } = harness;
  git(repo, 'checkout', '--quiet', '-b', 'other');
  write(repo, { '.gitignore': '/local/\n/way/\n', 'local/a': 'committed' });
  fs.symlinkSync(harness.directory, path.join(repo, 'way'));
  git(repo, 'add', '--all', '--force');
  commit(repo, 'as it is elsewhere');
  git(repo, 'checkout', '--quiet', 'main');
  write(repo, { [PATTERNS]: '.env\nlocal\nway\n', '.gitignore': '.env\n/local/\n/way/\n' });
  commit(repo, 'with a list');
  write(repo, { '.env': SECRET, 'local/a': 'mine', 'local/b': 'b', 'way/out': 'out' });
  fs.symlinkSync('/etc/hostname', path.join(repo, 'local/link'));
  fs.writeFileSync(Buffer.from(`${repo}/local/\u00ff`, 'latin1'), 'no UTF-8');
  const made = await create(harness, { base_ref: 'other', copy_included: true });
  expect(made.included).toMatchObject({ status: 'completed', files: 1, skipped: 5 });
  expect(fs.readdirSync(path.join(made.path, 'local')).toSorted()).toEqual(['a', 'b']);
  expect(read(made.path, 'local/a')).toBe('committed');
  expect(there(made, '.env')).toBe(false);
  expect(fs.existsSync(path.join(harness.directory, 'out'))).toBe(false);
});

test('Too many or too large included files are refused with a next step, and no worktree is created.', async () => {
  const harness = await openHarness();
  withPatterns(harness, '/local/\n');
  for (let at = 0; at <= 1000; at += 1) write(harness.repo, { [`local/${at}`]: '' });
  const refused = anError('conflict', 'copy_included');
  await expect(create(harness, { copy_included: true })).rejects.toMatchObject(refused);
  fs.rmSync(path.join(harness.repo, 'local/0'));
  fs.truncateSync(path.join(harness.repo, 'local/1'), 64 * 1024 * 1024 + 1);
  await expect(create(harness, { copy_included: true })).rejects.toMatchObject(refused);
  expect([branches(harness.repo), known(harness.repo)]).toEqual([['main'], []]);
  fs.truncateSync(path.join(harness.repo, 'local/1'), 1);
  const made = await create(harness, { copy_included: true });
  expect(made.included).toMatchObject({ files: 1000, bytes: 1 });
});

test('No archive has included files, even if the worktree no longer ignores them.', async () => {
  const harness = await openHarness();
  withPatterns(harness);
  const made = await create(harness, { copy_included: true });
  write(made.path, {
    '.gitignore': '# nothing\n',
    '.env': `${SECRET}and more\n`,
    work: 'mine',
  });
  expect(git(made.path, 'status', '--short')).toContain('?? .env');
  await release(harness, made, harness.session, false);
  const done = await cleanUp(harness, made);
  expect(done).toMatchObject({
    status: 'cleaned',
    diagnostics: ['ignored files are not archived: .env'],
  });
  for (const content of [SECRET, `${SECRET}and more\n`])
    expect(isKept(harness.repo, content)).toBe(false);
  expect(isKept(harness.repo, 'mine')).toBe(true);
  const restored = await restore(harness, made);
  expect([there(restored, 'work'), there(restored, '.env')]).toEqual([true, false]);
});

test('A worktree with included files counts as clean.', async () => {
  const harness = await openHarness();
  withPatterns(harness);
  const made = await create(harness, { copy_included: true, deletion_policy: 'delete_if_clean' });
  const { cleanup } = await release(harness, made, harness.session);
  expect(cleanup).toMatchObject({ status: 'cleaned', archive_ref: null });
});
