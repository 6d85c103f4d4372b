import { Git } from '../../../src/server/work/git/git.ts';
import { GitFailure } from '../../../src/server/work/git/git-failure.ts';
import { readStatus } from '../../../src/server/work/git/changes.ts';
import { settingsAt } from '../../../src/server/work/git/isolated-git-dir.ts';
import {
  branchesAlike,
  checkoutsOf,
  idsOf,
  repositoryAt,
} from '../../../src/server/work/git/repository.ts';
import { commitsBeyond, mergeCommits } from '../../../src/server/work/merge/commits.ts';
import { compareTrees } from '../../../src/server/work/snapshots/compare.ts';
import { blobsAt, listTree } from '../../../src/server/work/snapshots/tree.ts';
import { seed } from './files.ts';
import type { Target } from './runner.ts';

/** The most bytes of one answer of git that the callers read. */
const PIECE = 1000;

/** Git whose every command prints the input. Above that, all code of the product runs. */
class PrintingGit extends Git {
  readonly #output: Buffer;
  readonly #exitCode: number;

  constructor(output: Buffer, exitCode = 0) {
    super({ marker: 'm', signal: new AbortController().signal });
    this.#output = output;
    this.#exitCode = exitCode;
  }

  override with(): Git {
    return this;
  }

  override at(): Git {
    return this;
  }

  override pieces(_args: readonly string[], take: (chunk: Buffer) => boolean): Promise<boolean> {
    for (let at = 0; at < this.#output.length; at += PIECE)
      if (!take(this.#output.subarray(at, at + PIECE))) return Promise.resolve(true);
    if (this.#exitCode !== 0) return Promise.reject(new GitFailure(this.#exitCode, 'failed'));
    return Promise.resolve(false);
  }
}

const SHA = '89abcdef0123456789abcdef0123456789abcdef';
const OTHER = '0123456789abcdef0123456789abcdef01234567';
const ZERO = '0'.repeat(40);

const status = [
  `1 .M N... 100644 100644 100644 ${SHA} ${SHA} a file.txt`,
  `1 D. N... 100644 000000 000000 ${SHA} ${ZERO} gone`,
  `1 .M S.M. 160000 160000 160000 ${SHA} ${SHA} module`,
  `u UU N... 100644 100644 100644 100644 ${SHA} ${SHA} ${SHA} both`,
  '? new',
  '? nested/',
  '! ignored',
  '',
].join('\0');

const diff = [
  `:100644 100644 ${SHA} ${OTHER} M`,
  'a',
  `:100644 100644 ${SHA} ${SHA} R100`,
  'from',
  'to',
  `:100644 120000 ${SHA} ${OTHER} T`,
  'link',
  '3\t4\ta',
  '0\t0\t',
  'from',
  'to',
  '-\t-\tlink',
  '',
].join('\0');

const patch = `diff --git a/a b/a
index ${SHA}..${OTHER} 100644
--- a/a
+++ b/a
@@ -1 +1,2 @@
-old
+new
+lines
diff --git a/b b/b
new file mode 100644
index ${ZERO}..${SHA}
Binary files /dev/null and b/b differ
`;

const commit = `tree ${OTHER}
parent ${SHA}
author A U Thor <a@example.org> 1700000000 +0100
committer A U Thor <a@example.org> 1700000000 +0100

A subject

A body
`;
const commits = `${SHA}\n${SHA} commit ${commit.length}\n${commit}\n`;
const conflict = [
  OTHER,
  'a',
  'b',
  '',
  '1',
  'a',
  'CONFLICT (contents)',
  'CONFLICT (contents): in a\n',
  '2',
  'b',
  'c',
  'Auto-merging',
  'x\n',
  '',
].join('\0');
const tree = [
  `100644 blob ${SHA}      12\ta`,
  `120000 blob ${OTHER}       -\tlink`,
  `160000 commit ${OTHER}       -\tmodule`,
  '',
].join('\0');
const config = [
  'local\0core.bare\nfalse',
  'global\0user.name\nA\nB',
  'local\0filter.lfs.clean',
  'worktree\0core.x\n1',
  '',
].join('\0');
const refs = [
  ['refs/heads/main', SHA, '', 'commit'].join('\0'),
  ['refs/heads/x', OTHER, 'refs/heads/main', 'commit'].join('\0'),
].join('\n');
const worktrees = `worktree /w\nHEAD ${SHA}\nbranch refs/heads/main\n\nworktree /x\ndetached\nprunable gone\n`;

/** The readers of git's output, by kind. */
const readers: Record<string, (git: Git, output: Buffer) => Promise<unknown>> = {
  status: (git) => readStatus(git, { gitDir: null, files: '/nowhere' }, { maxBytes: 100_000 }),
  diff: (git) => compareTrees(git, ['a', 'b'], { paths: [], stat: false, exact: false }),
  patch: (git) => compareTrees(git, ['a', 'b'], { paths: [], stat: false, exact: true }),
  commits: (git) => commitsBeyond(repositoryAt(git, '/w/.git', '/w'), { from: SHA, to: OTHER }),
  async conflict(_git, output) {
    return mergeCommits(new PrintingGit(output, 1), { ours: SHA, theirs: OTHER });
  },
  async tree(git) {
    await blobsAt(git, [{ tree: SHA }, { tree: OTHER }], 'a');
    return listTree(git, SHA, []);
  },
  config: (git) => settingsAt(repositoryAt(git, '/w/.git', '/w')),
  async refs(git) {
    const repository = repositoryAt(git, '/w/.git', '/w');
    await idsOf(git, ['main']);
    await checkoutsOf(repository, 'main');
    return branchesAlike(repository, 'main');
  },
};

export const git: Target = {
  entry:
    'readStatus, compareTrees, commitsBeyond, mergeCommits, listTree, blobsAt, settingsAt and refs',
  seeds: [
    seed('status', 'text', status),
    seed('diff', 'text', diff),
    seed('patch', 'text', diff + patch),
    seed('commits', 'text', commits),
    seed('conflict', 'text', conflict),
    seed('tree', 'text', tree),
    seed('config', 'text', config),
    seed('refs', 'text', refs),
    seed('refs', 'text', worktrees),
  ],
  isRefusal: (error) => error instanceof GitFailure,
  open: () =>
    Promise.resolve({
      async feed({ kind, bytes }) {
        JSON.stringify(await readers[kind]?.(new PrintingGit(bytes), bytes));
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
};
