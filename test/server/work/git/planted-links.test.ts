import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { noFailpoints } from '../../../../src/core/lib/failpoint.ts';
import { Git } from '../../../../src/server/work/git/git.ts';
import { GitContext } from '../../../../src/server/work/git/git-context.ts';
import { findRepository } from '../../../../src/server/work/git/repository.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { commit, git as runGit } from '../../../support/worktrees/work.ts';

test('Links that a process in a sandbox has left in a repository are gone before the server reads or moves its refs.', async () => {
  await using directory = tempDirectory('links');
  const at = (name: string) => path.join(directory.path, name);
  for (const name of ['main', 'victim']) fs.mkdirSync(at(name));
  runGit(at('main'), 'init', '-q', '-b', 'main');
  commit(at('main'), 'one');
  fs.mkdirSync(at('main/.git/logs/refs/cadre'));
  const links = ['refs/heads/cadre', 'objects/zz'].map((name) => at(`main/.git/${name}`));
  const plant = () => {
    for (const link of links) fs.symlinkSync(at('victim'), link);
  };
  const left = () => links.filter((link) => fs.lstatSync(link, { throwIfNoEntry: false }));
  const git = new Git({ marker: 'none', signal: new AbortController().signal });
  const gitContext = new GitContext({
    git,
    root: at('worktrees'),
    scratch: at('scratch'),
    failpoint: noFailpoints,
    isTrusted: async () => false,
  });
  plant();
  const repository = await findRepository(git, at('main'));
  expect(left()).toEqual([]);
  plant();
  await gitContext.withRepositoryLock(repository, () =>
    repository.git.text(['branch', 'cadre/one']),
  );
  expect(left()).toEqual([links[0]]);
  expect(fs.lstatSync(links[0] ?? '').isDirectory()).toBe(true);
  expect(fs.readdirSync(at('victim'))).toEqual([]);
});
