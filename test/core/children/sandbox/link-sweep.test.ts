import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { removeGitLinks } from '../../../../src/core/children/sandbox/link-sweep.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { commit, git } from '../../../support/worktrees/work.ts';

interface Stage {
  common: string;
  worktree: string;
  /** A directory that a program in a sandbox must not reach. */
  victim: string;
}

async function onStage(run: (stage: Stage) => Promise<void>): Promise<void> {
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

describe('the sweep of links', () => {
  test('The sweep follows no link that a program puts in place of a directory meanwhile.', () =>
    onStage(async ({ common, worktree, victim }) => {
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
    }));
});
