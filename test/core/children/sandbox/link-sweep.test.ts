import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  removeGitLinks,
  removeLinksOfRepository,
} from '../../../../src/core/children/sandbox/link-sweep.ts';
import { hasProc } from '../../../../src/core/lib/platform.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { commit, git } from '../../../support/worktrees/work.ts';

interface Harness {
  common: string;
  worktree: string;
  /** A directory that a program in a sandbox must not reach. */
  victim: string;
}

async function withHarness(run: (harness: Harness) => Promise<void>): Promise<void> {
  await using directory = tempDirectory('sweep');
  const at = (name: string) => path.join(directory.path, name);
  fs.mkdirSync(at('main'));
  fs.mkdirSync(at('victim'));
  fs.writeFileSync(at('victim/precious'), 'kept\n');
  git(at('main'), 'init', '-q', '-b', 'main');
  commit(at('main'), 'one');
  git(at('main'), 'worktree', 'add', '-q', at('worktree'));
  await run({ common: at('main/.git'), worktree: at('worktree'), victim: at('victim') });
}

const isThere = (file: string) => fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined;

function plant({ common, victim }: Harness, names: readonly string[]): void {
  for (const name of names) {
    const link = path.join(common, name);
    fs.mkdirSync(path.dirname(link), { recursive: true });
    fs.rmSync(link, { recursive: true, force: true });
    fs.symlinkSync(victim, link);
  }
}

const LINKS = [
  'refs/tags',
  'refs/heads/k',
  'refs/heads/deep/er/k',
  'objects/pack',
  'objects/zz',
  'objects/aa/k',
  'objects/info/k',
  'logs/refs/heads/k',
];

describe('the sweep of links', () => {
  test('Links among refs, objects, reflogs and files of the worktree are removed, and their targets are kept.', () =>
    withHarness(async (harness) => {
      const own = ['worktrees/worktree/COMMIT_EDITMSG', 'worktrees/worktree/logs/HEAD'];
      const names = [...LINKS, ...own];
      plant(harness, names);
      await removeGitLinks(harness.worktree);
      expect(names.filter((name) => isThere(path.join(harness.common, name)))).toEqual([]);
      expect(fs.readdirSync(harness.victim)).toEqual(['precious']);
      expect(git(harness.worktree, 'log', '-1', '--format=%s')).toBe('one');
    }));

  test('Only a repository that a sandbox has written is swept by its common directory.', () =>
    withHarness(async (harness) => {
      plant(harness, LINKS);
      await removeLinksOfRepository(harness.common);
      expect(LINKS.filter((name) => !isThere(path.join(harness.common, name)))).toEqual([]);
      fs.mkdirSync(path.join(harness.common, 'logs/refs/cadre'));
      await removeLinksOfRepository(harness.common);
      expect(LINKS.filter((name) => isThere(path.join(harness.common, name)))).toEqual([]);
    }));

  test('A link that git writes for a symbolic ref is kept.', () =>
    withHarness(async ({ common, worktree }) => {
      const head = path.join(common, 'refs/remotes/origin/HEAD');
      const trap = path.join(common, 'refs/heads/trap');
      fs.mkdirSync(path.dirname(head), { recursive: true });
      fs.symlinkSync('refs/remotes/origin/main', head);
      fs.symlinkSync('refs/../../../../victim', trap);
      await removeGitLinks(worktree);
      expect([isThere(head), isThere(trap)]).toEqual([true, false]);
    }));

  // Without /proc there is no sandbox, so no program of a sandbox races with the sweep.
  test.skipIf(!hasProc)(
    'The sweep follows no link that a program puts in place of a directory meanwhile.',
    () =>
      withHarness(async ({ common, worktree, victim }) => {
        const heads = path.join(common, 'logs/refs/heads');
        const swept = path.join(heads, 'zz');
        fs.mkdirSync(swept);
        for (let n = 0; n < 3000; n++) {
          fs.symlinkSync('x', path.join(swept, String(n)));
          fs.writeFileSync(path.join(victim, String(n)), '');
        }
        const first = path.join(swept, fs.readdirSync(swept)[0] ?? '');
        const sweep = removeGitLinks(worktree);
        while (isThere(first)) await setImmediate();
        fs.renameSync(swept, path.join(heads, 'old'));
        fs.symlinkSync(victim, swept);
        await sweep;
        expect(fs.readdirSync(victim)).toHaveLength(3001);
        expect(fs.readdirSync(path.join(heads, 'old'))).toEqual([]);
      }),
  );

  test.skipIf(!hasProc)(
    'A link is removed even if its name, or the name of its directory, is not UTF-8.',
    () =>
      withHarness(async ({ common, worktree, victim }) => {
        const heads = path.join(common, 'refs/heads');
        const odd = Buffer.from([0x2f, 0x6b, 0xff]);
        const inner = Buffer.concat([Buffer.from(`${heads}/d`), odd]);
        fs.mkdirSync(path.join(heads, 'd'));
        fs.mkdirSync(inner);
        const links = [
          Buffer.concat([Buffer.from(heads), odd]),
          Buffer.concat([inner, Buffer.from('/k')]),
        ];
        for (const link of links) fs.symlinkSync(victim, link);
        await removeGitLinks(worktree);
        const left = links.filter((one) => fs.lstatSync(one, { throwIfNoEntry: false }));
        expect(left).toEqual([]);
        expect(fs.readdirSync(victim)).toEqual(['precious']);
      }),
  );

  test('A named pipe, at which git would wait, is removed.', () =>
    withHarness(async ({ common, worktree }) => {
      execFileSync('mkfifo', [path.join(common, 'refs/heads/pipe')]);
      await removeGitLinks(worktree);
      expect(isThere(path.join(common, 'refs/heads/pipe'))).toBe(false);
      expect(git(worktree, 'branch', '--format=%(refname:short)')).toMatch(/^main\b/m);
    }));

  test('A directory that is too deep for git is removed with its links.', () =>
    withHarness(async ({ common, worktree, victim }) => {
      const deep = path.join(common, 'refs/heads', ...Array<string>(100).fill('d'));
      fs.mkdirSync(deep, { recursive: true });
      fs.symlinkSync(victim, path.join(deep, 'k'));
      await removeGitLinks(worktree);
      expect(isThere(path.join(deep, 'k'))).toBe(false);
      expect(fs.readdirSync(victim)).toEqual(['precious']);
    }));
});
