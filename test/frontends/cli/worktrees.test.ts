import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import { openSession } from '../../support/turns.ts';
import {
  branches,
  commit,
  git,
  makeRepository,
  read,
  write,
} from '../../support/worktrees/work.ts';
import { cadreOn, testCadre } from '../../support/cli/cadre.ts';

const server = sharedDemo();

/** Creates a repository, a session in it, and a worktree for the session with the command. */
async function made(test: string) {
  const cadre = cadreOn(server());
  const repo = makeRepository(path.join(server().directory, test));
  const open = async () => (await openSession(server().client, repo)).id;
  const session = await open();
  const created = await cadre(['worktrees', 'create', 'tree', '--session', session.slice(-8)]);
  expect([created.code, created.stderr]).toEqual([0, '']);
  const [one] = (await cadre(['worktrees', 'list', '--repo', repo, '--json'])).json() as [
    { id: string },
  ];
  return { cadre, repo, session, open, place: created.stdout.trim(), end: one.id.slice(-8) };
}

test('cadre worktrees create makes a worktree for a session by the end of its id, and prints the path.', async () => {
  const { place } = await made('create');
  expect(read(place, 'a.txt')).toBe('one\n');
});

test('cadre worktrees list shows the worktrees of a repository or with a status in a table.', async () => {
  const { cadre, repo, end: id } = await made('list');
  const listed = await cadre(['worktrees', 'list', '--repo', repo, '--padded']);
  const [heading = '', row = ''] = listed.stdout.split('\n');
  expect(heading.split(/\s+/)).toEqual([
    'ID',
    'STATUS',
    'AGE',
    'CHANGED',
    'NAME',
    'BRANCH',
    'PATH',
  ]);
  const [end, status, , , name, branch] = row.split(/\s+/);
  expect([end, status, name, branch]).toEqual([id, 'active', 'tree', 'cadre/tree']);
  const none = await cadre(['worktrees', 'list', '--repo', repo, '--status', 'cleaned', '--json']);
  expect(none.json()).toEqual([]);
});

test('cadre worktrees claim claims a worktree as a consumer, and a second role is refused.', async () => {
  const { cadre, session, open, end } = await made('claim');
  const other = await open();
  const claimed = await cadre(['worktrees', 'claim', end, '--session', other]);
  expect(claimed.stdout).toMatch(/^Claimed worktree wt_\w+ as consumer\n$/);
  const twice = await cadre(['worktrees', 'claim', end, '--session', other, '--role', 'owner']);
  expect(twice.code).toBe(7);
  const shown = await cadre(['worktrees', 'get', end, '--json']);
  expect(shown.json()).toMatchObject({
    claims: [{ session_id: session }, { session_id: other }],
  });
});

test('cadre worktrees release shows the number of remaining claims, and keeps the worktree with --keep.', async () => {
  const { cadre, session, open, end, place } = await made('release');
  const other = await open();
  await cadre(['worktrees', 'claim', end, '--session', other]);
  const first = await cadre(['worktrees', 'release', end, '--session', other]);
  expect(first.stdout).toMatch(/^Released worktree "tree" \(wt_\w+\): active, claims left: 1\n$/);
  const claimed = await cadre(['worktrees', 'cleanup', end]);
  expect(claimed.code).toBe(7);
  expect(claimed.stdout).toContain('cadre worktrees release tree --session SESSION');
  const last = await cadre(['worktrees', 'release', end, '--session', session, '--keep']);
  expect(last.stdout).toMatch(/^Released worktree "tree" \(wt_\w+\): retained, claims left: 0\n$/);
  const dryRun = await cadre(['worktrees', 'gc']);
  expect(dryRun.stdout).toContain('would be archived and removed');
  expect(fs.existsSync(place)).toBe(true);
});

test('cadre worktrees cleanup archives the work, restore brings it back, and gc --remove removes it again.', async () => {
  const { cadre, repo, session, end, place } = await made('cleanup');
  write(place, { new: 'mine' });
  await cadre(['worktrees', 'release', end, '--session', session, '--keep']);
  const cleaned = await cadre(['worktrees', 'cleanup', end, '--reason', 'done']);
  expect(cleaned.stdout).toMatch(
    /^Worktree "tree" \((wt_\w+)\): cleaned\n {2}archived: refs\/cadre\/archive\/\1\n$/,
  );
  expect(branches(repo)).toEqual(['main']);
  const back = await cadre(['worktrees', 'restore', end, '--name', 'tree-2']);
  expect(read(back.stdout.trim(), 'new')).toBe('mine');
  expect((await cadre(['worktrees', 'gc', '--remove'])).stdout).toMatch(/\tcleaned\t/);
  expect(branches(repo)).toEqual(['main']);
});

test('cadre worktrees merge shows its plan, asks, and merges; a rebase then has nothing to do.', async () => {
  const { cadre, repo, place, end } = await made('merge');
  write(place, { 'new.txt': 'mine\n' });
  const open = await cadre(['worktrees', 'merge', end]);
  expect([open.code, open.stdout]).toEqual([
    7,
    expect.stringContaining('refused: the worktree has uncommitted changes'),
  ]);
  expect(open.stdout).toContain('pass --commit MESSAGE');
  commit(place, 'mine');
  const shown = /^cadre\/tree into main: fast-forward\ncommits: 1\n {2}[0-9a-f]{8} mine\n/;
  const looked = await cadre(['worktrees', 'merge', end, '--dry-run']);
  expect([looked.code, looked.stdout]).toEqual([0, expect.stringMatching(shown)]);
  const nobody = await cadre(['worktrees', 'merge', end]);
  expect([nobody.code, nobody.stdout]).toEqual([2, '']);
  const declined = await cadre(['worktrees', 'merge', end], { isTerminal: true, stdin: 'n\n' });
  expect(declined.stdout).toBe('Nothing was changed\n');
  expect(fs.existsSync(path.join(repo, 'new.txt'))).toBe(false);
  const accepted = await cadre(['worktrees', 'merge', end], { isTerminal: true, stdin: 'y\n' });
  expect(accepted.stderr).toContain('continue? [y/N]');
  expect(accepted.stdout).toMatch(
    /^Merged tree into main: now at .*\nThe worktree is kept: .* cleanup tree /,
  );
  expect(read(repo, 'new.txt')).toBe('mine\n');
  const again = await cadre(['worktrees', 'rebase', end, '--yes', '--json']);
  expect(again.json()).toMatchObject({ outcome: 'nothing_to_do' });
});

test('A merge with a conflict names the conflict, with --json too, and exits with 7.', async () => {
  const { cadre, repo, place, end } = await made('conflict');
  write(place, { 'a.txt': 'mine\n' });
  commit(place, 'mine');
  write(repo, { 'a.txt': 'theirs\n' });
  const before = commit(repo, 'theirs');
  const merged = await cadre(['worktrees', 'merge', end, '--yes']);
  expect([merged.code, merged.stdout]).toEqual([
    7,
    expect.stringContaining('conflict: a.txt (contents)\nnothing was changed'),
  ]);
  const rebased = await cadre(['worktrees', 'rebase', end, '--yes', '--json']);
  expect([rebased.code, rebased.json()]).toEqual([
    7,
    expect.objectContaining({ conflicts: [expect.objectContaining({ path: 'a.txt' })] }),
  ]);
  expect(git(repo, 'rev-parse', 'main')).toBe(before);
});

test('cadre worktrees pr is refused with the plan of the pull request.', async () => {
  const { cadre, repo, place, end } = await made('pr');
  write(place, { 'a.txt': 'mine\n' });
  commit(place, 'mine');
  git(repo, 'remote', 'add', 'origin', repo);
  const shown = await cadre(['worktrees', 'pr', end, '--remote', 'origin', '--title', 'T']);
  expect([shown.code, shown.stdout]).toEqual([7, expect.stringContaining('title: T\n')]);
});

test('An unknown worktree is reported with the command that lists worktrees.', async () => {
  const unknown = await cadreOn(server())(['worktrees', 'get', '00000000']);
  expect([unknown.code, unknown.stderr]).toEqual([
    3,
    expect.stringMatching(
      /^cadre: worktree "00000000" not found: see cadre worktrees list --data-dir \S+\n$/,
    ),
  ]);
});

test('cadre worktrees trust shows the script and allows it after a confirmation, and untrust withdraws that.', async () => {
  const { server, cadre } = await testCadre();
  const repo = makeRepository(path.join(server.directory, 'repo'));
  const { id: session } = await openSession(server.client, repo);
  const create = (name: string, ...more: string[]) =>
    cadre(['worktrees', 'create', name, '--session', session, ...more]);
  const at = ['--repo', repo];
  expect((await cadre(['worktrees', 'trust', ...at])).code).toBe(3);
  write(repo, { '.cadre/worktree-init.sh': 'touch ran\n' });
  commit(repo, 'with a script');

  const asked = await create('asked', '--init-if-trusted');
  expect(asked.stderr).toContain(`cadre worktrees trust --repo ${repo}`);
  expect(fs.existsSync(path.join(asked.stdout.trim(), 'ran'))).toBe(false);
  const said = await create('said');
  expect(said.stderr).toContain(`the init script did not run: not trusted yet`);
  expect(fs.existsSync(path.join(said.stdout.trim(), 'ran'))).toBe(false);
  const none = await create('none', '--no-init');
  expect(fs.existsSync(path.join(none.stdout.trim(), 'ran'))).toBe(false);

  const nobody = await cadre(['worktrees', 'trust', ...at]);
  expect([nobody.code, nobody.stdout]).toEqual([2, '']);
  expect(nobody.stderr).toContain('  | touch ran\n');
  const trusted = await cadre(['worktrees', 'trust', ...at, '--yes']);
  expect(trusted.stdout).toMatch(/^Trusted [0-9a-f]{64} for /);
  const sha256 = trusted.stdout.slice('Trusted '.length).slice(0, 64);
  expect((await cadre(['worktrees', 'list-trusted', ...at])).stdout).toContain(sha256);
  const allowed = await create('allowed', '--init-if-trusted');
  expect(fs.existsSync(path.join(allowed.stdout.trim(), 'ran'))).toBe(true);

  const withdrawn = await cadre(['worktrees', 'untrust', ...at]);
  expect(withdrawn.stdout).toBe(`Withdrew 1 permission for ${repo}\n`);
  const byDigest = await cadre(['worktrees', 'trust', ...at, '--sha256', sha256, '--json']);
  expect(byDigest.json()).toMatchObject([{ repo_root: repo, sha256 }]);
});

test('On a terminal, cadre worktrees create shows an untrusted init script, and runs it only if the user allows it.', async () => {
  const { server, cadre } = await testCadre();
  const repo = makeRepository(path.join(server.directory, 'repo'));
  const { id: session } = await openSession(server.client, repo);
  const create = (name: string, stdin: string, ...more: string[]) =>
    cadre(['worktrees', 'create', name, '--session', session, ...more], {
      isTerminal: true,
      stdin,
    });
  const hasRun = ({ stdout }: { stdout: string }) => fs.existsSync(path.join(stdout.trim(), 'ran'));
  write(repo, { '.cadre/worktree-init.sh': 'touch ran\n' });
  commit(repo, 'with a script');
  const ifTrusted = await create('if-trusted', '', '--init-if-trusted');
  expect([ifTrusted.code, hasRun(ifTrusted)]).toEqual([0, false]);
  expect(ifTrusted.stderr).not.toContain('allow running');
  const declined = await create('declined', 'n\n');
  expect([declined.code, hasRun(declined)]).toEqual([0, false]);
  expect(declined.stderr).toContain('  | touch ran\n');
  expect(declined.stderr).toContain('allow running this for worktrees of the repository?');
  const allowed = await create('allowed', 'y\n');
  expect([allowed.code, hasRun(allowed)]).toEqual([0, true]);
  const again = await create('again', '');
  expect([again.code, hasRun(again)]).toEqual([0, true]);
  expect(again.stderr).not.toContain('touch ran');
  write(repo, { '.cadre/worktree-init.sh': 'touch ran; touch moved\n' });
  commit(repo, 'with another script');
  const moved = await create('moved', 'n\n');
  expect([moved.code, hasRun(moved)]).toEqual([0, false]);
  expect(moved.stderr).toContain('  | touch ran; touch moved\n');
});
