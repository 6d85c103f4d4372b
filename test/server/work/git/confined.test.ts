import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { findProgram } from '../../../../src/core/lib/find-program.ts';
import { writerOptions } from '../../../../src/core/children/sandbox/plan.ts';
import { Git } from '../../../../src/server/work/git/git.ts';
import { openIsolatedGitDir } from '../../../../src/server/work/git/isolated-git-dir.ts';
import { findRepository } from '../../../../src/server/work/git/repository.ts';
import { hasSandbox } from '../../../support/sandbox/available.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { commit, git as runGit, write } from '../../../support/worktrees/work.ts';

/** Checks out files while a filter replaces their directory by a link, as a process in a sandbox can. */
async function checkOut(at: (name: string) => string, isConfined: boolean): Promise<void> {
  for (const name of ['main', 'outside', 'files', 'scratch']) fs.mkdirSync(at(name));
  runGit(at('main'), 'init', '-q', '-b', 'main');
  write(at('main'), { 'd/one': '1\n', '.gitattributes': 'd/* filter=swap\n' });
  commit(at('main'), 'one');
  // Git runs a filter in the directory of the files.
  const script = '#!/bin/sh\nmv d moved\nln -s ../outside d\ncat\n';
  fs.writeFileSync(at('swap'), script, { mode: 0o700 });
  const bubblewrap = findProgram('bwrap', process.env.PATH ?? '') ?? '';
  const git = new Git({
    marker: 'none',
    signal: new AbortController().signal,
    sandbox: { wordsForWriter: async (directories) => [bubblewrap, ...writerOptions(directories)] },
  });
  const { isolated } = await openIsolatedGitDir(await findRepository(git, at('main')), {
    files: at('files'),
    scratch: at('scratch'),
    filters: async () => [['filter.swap.smudge', '../swap']],
  });
  const head = runGit(at('main'), 'rev-parse', 'HEAD');
  await isolated.with({ isConfined }).text(['read-tree', '-m', '-u', head]);
}

describe.skipIf(!hasSandbox)('git that writes files', () => {
  test('Git writes nothing through a link that replaces a directory during a checkout.', async () => {
    await using directory = tempDirectory("confined 'quoted'");
    const at = (name: string) => path.join(directory.path, name);
    await expect(checkOut(at, true)).rejects.toThrow(/unable to create file d\/one: Read-only/);
    expect(fs.readlinkSync(at('files/d'))).toBe('../outside');
    expect(fs.readdirSync(at('outside'))).toEqual([]);
  });

  test('Git that is not confined writes through such a link.', async () => {
    await using directory = tempDirectory('unconfined');
    const at = (name: string) => path.join(directory.path, name);
    await checkOut(at, false);
    expect(fs.readdirSync(at('outside'))).toEqual(['one']);
  });
});
