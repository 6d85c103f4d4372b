import { z } from 'zod';
import { flag, nameOfLength, nullableText, optionalText, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { gitReference, worktree } from './worktrees.ts';

const worktreeParam = { worktree_id: z.string().describe('Worktree id.') };

const conflict = z
  .looseObject({
    path: z.string(),
    kind: text(
      "Kind of the conflict in git's terms, such as contents, modify/delete or rename/rename.",
    ),
    message: text('Message of git. It may be empty.'),
  })
  .meta({ id: 'MergeConflict', description: 'A merge conflict in a file.' });
export type Conflict = z.output<typeof conflict>;

const commit = z
  .looseObject({
    commit: z.string(),
    subject: z.string(),
    author: text('Name of the author.'),
    authored_at: timestamp,
  })
  .meta({ id: 'FinishedCommit', description: 'A commit of a worktree.' });

const file = z
  .looseObject({
    path: z.string(),
    change: z.enum(['added', 'deleted', 'modified']),
    lines_added: z.int().nullable().describe('Number of added lines. Null for a binary file.'),
    lines_deleted: z.int().nullable(),
  })
  .meta({ id: 'FinishedFile', description: 'A file that a merge or rebase changes.' });

const common = {
  worktree,
  outcome: z.enum(['planned', 'done', 'nothing_to_do']).meta({
    description:
      'Result. `planned`: nothing was changed; the response shows the effect. `nothing_to_do`: the target already contains all commits.',
  }),
  source_commit: z.string().describe('Commit that the branch of the worktree points to.'),
  target: z.string().describe('Branch to merge into or rebase onto.'),
  target_commit: z.string().describe('Commit that the target branch pointed to.'),
  commits: z.array(commit).meta({
    description:
      'Commits of the worktree that the target does not contain, newest first. At most 100.',
  }),
  commit_count: z.int(),
  files: z.array(file).describe('Files that change in the target. At most 500.'),
  file_count: z.int(),
  uncommitted: z
    .array(z.string())
    .describe('Paths of uncommitted changes in the worktree. At most 100.'),
  uncommitted_count: z.int(),
  obstacles: z.array(z.string()).meta({
    description:
      'Reasons why the request would be refused now, each with a solution. Empty if there are none.',
  }),
  notes: z.array(z.string()).describe('Notes about the effect.'),
};

const moved = {
  ...common,
  how: z.enum(['fast_forward', 'merge_commit', 'squash', 'replay', 'none']).meta({
    description:
      'Method. `fast_forward`: the branch moves to an existing commit. `replay`: the commits are recreated on the target. `none`: there is nothing to do, or there are conflicts.',
  }),
  result_commit: z.string().nullable().meta({
    description: 'Commit that the branch points to afterwards. Null in a plan.',
  }),
  result_tree: z
    .string()
    .nullable()
    .describe('Git tree id of the content of the branch afterwards. Null if there are conflicts.'),
  conflicts: z.array(conflict).describe('Merge conflicts. If there are any, nothing is changed.'),
  conflict_in: z.string().nullable().meta({
    description: 'Commit of a rebase that causes the conflicts. Null if there is none.',
  }),
  committer: z.string().nullable().meta({
    description: 'Committer according to the settings of git. Null if git has none.',
  }),
  checkout: z.string().nullable().meta({
    description:
      'Directory in which the branch is checked out and whose files are updated. Null if there is none.',
  }),
};

const finished = z
  .looseObject(moved)
  .meta({ id: 'WorktreeFinish', description: 'The plan or result of a merge or rebase.' });
export type MergeResult = z.output<typeof finished>;

/** Two messages of this length fit into a body, even if every character is escaped. */
const commitMessage = z.string().min(1).max(16_384);

const wish = {
  commit_message: commitMessage.nullish().meta({
    description:
      'Message of a commit of all uncommitted changes in the worktree, which is created first. Default: nothing is committed.',
  }),
  dry_run: z.boolean().nullish().meta({
    description: 'Whether to show the effect without changing anything. Default: true.',
  }),
  expected_tree: z
    .string()
    .regex(/^[0-9a-f]{40,64}$/)
    .nullish()
    .meta({
      description:
        '`result_tree` of an earlier response. The server refuses the request if the result would differ.',
    }),
};

export const mergeWorktree = endpoint('POST /v1/worktrees/{worktree_id}/merge', {
  summary: 'Merge the branch of a worktree into another branch, or show the effect',
  params: worktreeParam,
  body: z.strictObject({
    into: gitReference
      .nullish()
      .describe('Target branch. Default: the branch that the worktree was created from.'),
    squash: z.boolean().nullish().meta({
      description: 'Whether to combine all commits into one. Default: false.',
    }),
    message: commitMessage.nullish().meta({
      description:
        'Message of the merge commit. If set, a merge commit is created even if a fast-forward is possible.',
    }),
    ...wish,
  }),
  response: finished,
  errors: ['not_found', 'conflict', 'invalid', 'storage_full'],
});

export const rebaseWorktree = endpoint('POST /v1/worktrees/{worktree_id}/rebase', {
  summary: 'Rebase the branch of a worktree onto another branch, or show the effect',
  params: worktreeParam,
  body: z.strictObject({
    onto: gitReference
      .nullish()
      .describe('Target branch. Default: the branch that the worktree was created from.'),
    ...wish,
  }),
  response: finished,
  errors: ['not_found', 'conflict', 'invalid', 'storage_full'],
});

const pullRequest = z
  .looseObject({
    ...common,
    remote: text('Name of the git remote.'),
    remote_url: text('URL of the remote, without a password.'),
    branch: text('Branch on the remote that the pull request is created from.'),
    pushed: flag(
      'Whether that branch points to source_commit. In a plan, this is the state that the repository knows, because a plan does not connect to the remote.',
    ),
    title: z.string(),
    body: z.string(),
    draft: z.boolean(),
    url: nullableText('URL of the pull request. Null in a plan.'),
  })
  .meta({ id: 'WorktreePullRequest', description: 'The pull request of a worktree.' });
export type PullRequest = z.output<typeof pullRequest>;

export const openPullRequest = endpoint('POST /v1/worktrees/{worktree_id}/pull-request', {
  summary: 'Open a pull request with `gh` for the branch of a worktree, or show the effect',
  params: worktreeParam,
  body: z.strictObject({
    into: gitReference
      .nullish()
      .describe('Branch to merge into. Default: the branch that the worktree was created from.'),
    remote: gitReference.nullish().describe('Git remote. Default: `origin`.'),
    push: z.boolean().nullish().describe('Whether to push the branch first. Default: false.'),
    title: nameOfLength(1000).nullish().meta({
      description:
        'Title of the pull request. Default: the subject of the only commit, or the name of the worktree.',
    }),
    body: z.string().max(65_536).nullish().meta({
      description: 'Text of the pull request. Default: the subjects of the commits.',
    }),
    draft: z.boolean().nullish().describe('Whether to create a draft. Default: false.'),
    dry_run: wish.dry_run,
    expected_commit: z
      .string()
      .regex(/^[0-9a-f]{40,64}$/)
      .nullish()
      .meta({
        description:
          '`source_commit` of an earlier response. The server refuses the request if the branch points to another commit.',
      }),
    expected_url: optionalText(
      '`remote_url` of an earlier response. The server refuses the request if the remote has another URL.',
    ),
  }),
  bodyLimit: 512 * 1024,
  response: pullRequest,
  errors: ['not_found', 'conflict', 'invalid'],
});
