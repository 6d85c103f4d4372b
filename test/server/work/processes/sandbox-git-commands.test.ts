import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ranTo, stdout } from '../../../support/processes/work.ts';
import { hasSandbox } from '../../../support/sandbox/available.ts';
import { commit, git, write } from '../../../support/worktrees/work.ts';
import { type GitHarness, IDENTITY, withGitHarness } from './git-harness.ts';

const FILE = 'git -c protocol.file.allow=always';
/** Deletes a branch of the repository that `origin` names. */
const DELETE_THERE = 'git -C "$(git config remote.origin.url)" update-ref -d refs/heads/there';

/**
 * The commands of the table in docs/sandbox-git.md. Each begins in a clean worktree with three commits on the branch `main`. A
 * command after `packed` changes a ref that git has packed.
 */
const commands: Record<string, string> = {
  status: 'git status --short',
  diff: 'git diff HEAD~1',
  log: 'git log --oneline -2',
  show: 'git show HEAD',
  blame: 'git blame b',
  grep: 'git grep -q b',
  clean: 'touch new && git clean -fdq',
  'for-each-ref': 'git for-each-ref',
  'ls-remote': `${FILE} ls-remote -q origin`,
  fsck: 'git fsck --connectivity-only',
  archive: 'git archive -o /tmp/archive.tar HEAD',
  'format-patch': 'git format-patch -q -1 -o /tmp/patches main~1',
  'worktree list': 'git worktree list',
  'submodule status': 'git submodule -q status',
  add: 'echo 1 > new && git add new',
  commit: 'echo 2 > new && git add new && git commit -qm new',
  'commit --amend':
    'git commit -q --allow-empty -m one && git commit -q --amend --allow-empty -m two',
  reset: 'git commit -q --allow-empty -m one && git reset -q --hard HEAD~1',
  restore: 'echo 1 >> b && git restore b',
  rm: 'git rm -q b',
  mv: 'git mv b c',
  'apply --index': 'git diff main~2 main~1 | git apply -R --index',
  am: 'git switch -qc am main~2 && git format-patch -q --stdout main~2..main~1 | git am -q',
  switch: 'git switch -qc switched origin/main && git switch -q -',
  branch: 'git branch branched',
  'branch -d': 'git branch deleted && git branch -qd deleted',
  'branch -m': 'git branch named && git branch -m named renamed',
  tag: 'git tag light && git tag -a -m annotated annotated',
  'tag -d': 'git tag removed && git tag -d removed',
  'update-ref -d': 'git update-ref refs/heads/updated HEAD && git update-ref -d refs/heads/updated',
  notes: 'git notes add -m note && git notes remove',
  replace: 'git replace main~1 main~2 && git replace -d main~1',
  merge:
    'git switch -qc merged main~1 && git commit -q --allow-empty -m side && git merge -q -m merge main',
  rebase:
    'git switch -qc rebased main~1 && echo 1 > r && git add r && git commit -qm r && git rebase -q main',
  'cherry-pick': 'git switch -qc picked main~2 && git cherry-pick main~1',
  revert: 'git switch -qc reverted main && git revert --no-edit main~1',
  bisect: 'git bisect start main main~2 && git bisect good && git bisect reset',
  stash: 'echo 1 >> b && git stash -q && git stash pop -q && git stash -q && git stash drop -q',
  'reflog delete': 'git commit -q --allow-empty -m one && git reflog delete "HEAD@{0}"',
  fetch: `${FILE} fetch -q origin`,
  'fetch --prune': `${FILE} push -q origin HEAD:refs/heads/there && ${DELETE_THERE} && ${FILE} fetch -q --prune origin`,
  'remote prune': `${FILE} push -q origin HEAD:refs/heads/there && ${DELETE_THERE} && ${FILE} remote prune origin`,
  pull: `${FILE} pull -q --ff-only origin main`,
  push: `${FILE} push -q origin HEAD:refs/heads/pushed && ${FILE} push -q --delete origin pushed`,
  'hash-object -w': 'git hash-object -w b',
  'commit-tree': 'git commit-tree -m tree "HEAD^{tree}"',
  prune: 'echo unused | git hash-object -w --stdin && git prune --expire=now',
  config: 'git config user.x y && [ "$(git config user.x)" = y ]',
  'remote add': 'git remote add more /more && git remote set-url more /other',
  'push -u': `${FILE} push -qu origin HEAD:refs/heads/tracked`,
  'worktree add': 'git worktree add -q /tmp/added',
  'submodule update': `${FILE} submodule -q update --init`,
  'packed tag -d': 'git tag -d packed',
  'packed branch -d': 'git branch -qD packed',
  'packed branch -m': 'git branch -m packed repacked',
  'packed update-ref -d': 'git update-ref -d refs/heads/packed',
  'packed fetch --prune': `${FILE} fetch -q --prune old`,
  'packed remote prune': `${FILE} remote prune old`,
  'packed stash clear': 'git stash clear',
  gc: 'git gc -q',
  'pack-refs': 'git pack-refs --all',
  'maintenance run': 'git maintenance run -q',
  'repack -d': 'git repack -qad',
  'commit-graph write': 'git commit-graph write --reachable',
  'reflog expire --all': 'git reflog expire --expire=now --all',
  'sparse-checkout set': 'git sparse-checkout set a',
  'worktree remove': 'git worktree remove --force ../other',
  'worktree prune': 'git worktree prune -v',
};

/** Whether a cell names a version of git that this machine has. */
function isNewEnough(cell: string): boolean {
  const numbersOf = (text: string) => [...text.matchAll(/\d+/g)].map(Number);
  const [wantedMajor = Infinity, wantedMinor = 0] = numbersOf(
    /^With git (\d+\.\d+) or newer/.exec(cell)?.[1] ?? '',
  );
  const [major = 0, minor = 0] = numbersOf(git('.', '--version'));
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/** Returns the commands of the table, and whether each works in a worktree and in a main checkout. */
function readTable(): Map<string, { worktree: boolean; main: boolean }> {
  const page = fs.readFileSync('docs/sandbox-git.md', 'utf8');
  const found = new Map<string, { worktree: boolean; main: boolean }>();
  for (const line of page.split('\n').filter((one) => one.startsWith('| `'))) {
    const [, names = '', worktree = '', main = ''] = line.split('|').map((cell) => cell.trim());
    const prefix = names.endsWith('packed refs') ? 'packed ' : '';
    for (const [, name] of names.matchAll(/`([^`]+)`/g))
      found.set(`${prefix}${name}`, {
        worktree: worktree.startsWith('Yes') || isNewEnough(worktree),
        main: main.startsWith('Yes'),
      });
  }
  return found;
}

/** Runs commands one after another; returns the failed ones, each with its errors. */
async function failuresOf(harness: GitHarness): Promise<Map<string, string>> {
  const clean = 'git bisect reset; git switch -qf mine; git reset -q --hard main';
  const script = Object.values(commands)
    .map(
      (one, n) =>
        `(${clean}) >/dev/null 2>&1; (${one}) >/dev/null 2>/tmp/${n}; echo "result ${n} $?"; cat /tmp/${n}`,
    )
    .join('\n');
  const over = await ranTo(harness, `${IDENTITY}\n${script}`, harness.session);
  const parts = (await stdout(harness, over)).split(/^result /m).slice(1);
  expect(parts).toHaveLength(Object.keys(commands).length);
  return new Map(
    parts.flatMap((part, n): [string, string][] => {
      const [head = '', ...lines] = part.split('\n');
      const bad = lines.filter((line) => /Read-only|error:|fatal:|failed/.test(line));
      if (head.endsWith(' 0') && bad.length === 0) return [];
      return [[Object.keys(commands)[n] ?? '', lines.join(' ').trim()]];
    }),
  );
}

/** Adds packed refs, and commits and files that only another worktree or a reflog names. Returns the objects of these. */
function addRefs({ main, worktree }: GitHarness): string[] {
  const [origin, other] = ['origin.git', 'other'].map((name) =>
    path.join(path.dirname(main), name),
  ) as [string, string];
  git(main, 'push', '-q', 'origin', 'main:refs/heads/gone');
  git(main, 'remote', 'add', 'old', origin);
  git(main, 'fetch', '-q', 'old');
  git(origin, 'update-ref', '-d', 'refs/heads/gone');
  git(main, 'update-ref', '-d', 'refs/remotes/origin/gone');
  write(main, { b: 'stashed\n' });
  git(main, 'stash', '-q');
  for (const kind of ['tag', 'branch']) git(main, kind, 'packed');
  git(main, 'pack-refs', '--all');
  git(other, 'switch', '-q', '--detach');
  write(other, { detached: 'detached\n' });
  commit(other, 'detached');
  write(main, { reset: 'reset\n' });
  commit(main, 'reset');
  const reset = git(main, 'rev-parse', 'HEAD');
  git(main, 'reset', '-q', '--hard', 'HEAD~1');
  write(main, { staged: 'staged\n' });
  git(main, 'add', 'staged');
  git(worktree, 'reset', '-q', '--hard', 'main');
  return [git(other, 'rev-parse', 'HEAD'), reset, git(main, 'rev-parse', ':staged')];
}

describe.skipIf(!hasSandbox)('commands of git in a sandbox', () => {
  const table = readTable();

  test('The table in the documentation lists the commands that this test runs.', () => {
    expect([...table.keys()].toSorted()).toEqual(Object.keys(commands).toSorted());
  });

  test.each(['worktree', 'main'] as const)(
    'In a %s checkout, each command of the table in the documentation works or fails as listed there.',
    (kind) =>
      withGitHarness(kind, async (harness) => {
        const objects = addRefs(harness);
        const failed = await failuresOf(harness);
        const works = Object.fromEntries(
          Object.keys(commands).map((name) => [name, failed.get(name) ?? 'works']),
        );
        const expected = Object.keys(commands).map((name) => [
          name,
          table.get(name)?.[kind] === true ? 'works' : (failed.get(name) ?? 'has to fail'),
        ]);
        expect(works).toEqual(Object.fromEntries(expected));
        const refs = git(harness.main, 'for-each-ref', '--format=%(refname)').split('\n');
        const kept = [
          'heads/packed',
          'tags/packed',
          'remotes/old/gone',
          'stash',
          'cadre/archive/old',
        ];
        expect(refs).toEqual(expect.arrayContaining(kept.map((name) => `refs/${name}`)));
        for (const one of objects) git(harness.main, 'cat-file', '-e', one);
        execFileSync('git', ['fsck', '--connectivity-only'], { cwd: harness.main, stdio: 'pipe' });
      }),
  );

  test('Git checks out no branch of another worktree, and deletes no archive of a worktree.', () =>
    withGitHarness('worktree', async (harness) => {
      const errorsOf = async (command: string) =>
        stdout(harness, await ranTo(harness, `${command} 2>&1`, harness.session));
      for (const branch of ['main', 'other'])
        expect(await errorsOf(`git switch -q ${branch}`)).toMatch(/already (checked out|used)/);
      expect(await errorsOf('git update-ref -d refs/cadre/archive/old')).toMatch(/Read-only/);
      git(harness.main, 'rev-parse', 'refs/cadre/archive/old');
    }));

  test('Settings that a process changes last for the session, and have no effect outside.', () =>
    withGitHarness('worktree', async (harness) => {
      await ranTo(
        harness,
        'git config user.x inside && git remote add more /more',
        harness.session,
      );
      const seen = await ranTo(harness, 'git config user.x; git remote', harness.session);
      expect(await stdout(harness, seen)).toBe('inside\nmore\norigin\n');
      expect(git(harness.main, 'config', '--list')).not.toMatch(/user\.x|more/);
    }));
});
