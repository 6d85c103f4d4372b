import fs from 'node:fs';
import path from 'node:path';
import { type TestRuntime, withRuntime } from '../../../support/runtime.ts';
import { required } from '../../../support/sandbox/available.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { openSession } from '../../../support/turns.ts';
import { commit, git, write } from '../../../support/worktrees/work.ts';

export interface GitHarness extends TestRuntime {
  /** The main worktree. */
  main: string;
  worktree: string;
  session: { session_id: string };
}

/** The shell command that makes commits possible. */
export const IDENTITY = `export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b LC_ALL=C`;

/** Runs a test with a session that works in a worktree, or in the main worktree. */
export async function withGitHarness(
  kind: 'worktree' | 'main',
  test: (harness: GitHarness) => Promise<void>,
): Promise<void> {
  await using directory = tempDirectory('repository');
  const at = (name: string) => path.join(directory.path, name);
  for (const name of ['origin.git', 'main', 'sub']) fs.mkdirSync(at(name));
  git(at('origin.git'), 'init', '-q', '--bare', '-b', 'main');
  git(at('sub'), 'init', '-q', '-b', 'main');
  commit(at('sub'), 'sub');
  const main = at('main');
  git(main, 'init', '-q', '-b', 'main');
  write(main, { 'a/a': 'a\n' });
  commit(main, 'one');
  write(main, { b: 'b\n' });
  commit(main, 'two');
  git(main, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', at('sub'), 'sub');
  commit(main, 'submodule');
  git(main, 'remote', 'add', 'origin', at('origin.git'));
  git(main, 'push', '-q', 'origin', 'main');
  git(main, 'fetch', '-q');
  git(main, 'update-ref', 'refs/cadre/archive/old', 'HEAD');
  git(main, 'worktree', 'add', '-q', at('mine'));
  git(main, 'worktree', 'add', '-q', at('other'));
  const worktree = at('mine');
  const config = required({ write: [at('origin.git')], read: [at('sub')] });
  await withRuntime(
    async (given) => {
      const { id } = await openSession(given.client, kind === 'main' ? main : worktree);
      await test({ ...given, main, worktree, session: { session_id: id } });
    },
    { providers: [scriptedProvider()], config },
  );
}
