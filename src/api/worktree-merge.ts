import { z } from 'zod';
import {
  component,
  flag,
  nameOfLength,
  nullableText,
  optionalFlag,
  optionalText,
  text,
  timestamp,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { gitReference, worktree, worktreeParam } from './worktrees.ts';

const conflict = component('MergeConflict', 'A merge conflict in a file.', {
  path: z.string(),
  kind: text(
    "Kind of the conflict in git's terms, such as contents, modify/delete or rename/rename.",
  ),
  message: text('Message of git. It may be empty.'),
});
export type Conflict = z.output<typeof conflict>;

const commit = component('WorktreeCommit', 'A commit of a worktree.', {
  commit: z.string(),
  subject: z.string(),
  author: text('Name of the author.'),
  authored_at: timestamp,
});

const file = component('MergedFile', 'A file that a merge or rebase changes.', {
  path: z.string(),
  change: z.enum(['added', 'deleted', 'modified']),
  lines_added: z.int().nullable().describe('Number of added lines. Null for a binary file.'),
  lines_deleted: z.int().nullable(),
});

const common = {
  worktree,
  outcome: z.enum(['planned', 'done', 'nothing_to_do']).meta({
    description:
      'Result. `planned`: nothing was changed; the response shows the effect. `nothing_to_do`: the target already contains all commits.',
  }),
  source_commit: text('Commit that the branch of the worktree points to.'),
  target: text('Branch to merge into or rebase onto.'),
  target_commit: text('Commit that the target branch pointed to.'),
  commits: z.array(commit).meta({
    description:
      'Commits of the worktree that the target does not contain, newest first. At most 100. With commit_message, the first commit contains the uncommitted changes. Its id depends on the time of the request, so a plan and the later merge have different ids and the same result_tree.',
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
  result_commit: nullableText('Commit that the branch points to afterwards. Null in a plan.'),
  result_tree: nullableText(
    'Git tree id of the content of the branch afterwards. Null if there are conflicts.',
  ),
  conflicts: z.array(conflict).describe('Merge conflicts. If there are any, nothing is changed.'),
  conflict_in: nullableText(
    'Commit of a rebase that causes the conflicts. Null if no commit of a rebase causes conflicts.',
  ),
  committer: nullableText('Committer according to the settings of git. Null if git has none.'),
  checkout: nullableText(
    'Directory in which the branch is checked out and whose files are updated. Null if the branch is not checked out.',
  ),
};

const finished = component('MergeResult', 'The plan or result of a merge or rebase.', moved);
export type MergeResult = z.output<typeof finished>;

/** Two messages of this length fit into a body, even if every character is escaped. */
const commitMessage = z.string().min(1).max(16_384);

const requestFields = {
  commit_message: commitMessage.nullish().meta({
    description:
      'Message of a commit of all uncommitted changes in the worktree, which is created first. Default: nothing is committed.',
  }),
  dry_run: optionalFlag('Whether to show the effect without changing anything. Default: true.'),
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
    squash: optionalFlag('Whether to combine all commits into one. Default: false.'),
    message: commitMessage.nullish().meta({
      description:
        'Message of the merge commit. If set, a merge commit is created even if a fast-forward is possible.',
    }),
    ...requestFields,
  }),
  response: finished,
  errors: ['conflict', 'invalid', 'storage_full'],
});

export const rebaseWorktree = endpoint('POST /v1/worktrees/{worktree_id}/rebase', {
  summary: 'Rebase the branch of a worktree onto another branch, or show the effect',
  params: worktreeParam,
  body: z.strictObject({
    onto: gitReference
      .nullish()
      .describe('Target branch. Default: the branch that the worktree was created from.'),
    ...requestFields,
  }),
  response: finished,
  errors: ['conflict', 'invalid', 'storage_full'],
});

const pullRequest = component('WorktreePullRequest', 'The pull request of a worktree.', {
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
});
export type PullRequest = z.output<typeof pullRequest>;

export const openPullRequest = endpoint('POST /v1/worktrees/{worktree_id}/pull-request', {
  summary: 'Open a pull request with `gh` for the branch of a worktree, or show the effect',
  params: worktreeParam,
  body: z.strictObject({
    into: gitReference
      .nullish()
      .describe('Branch to merge into. Default: the branch that the worktree was created from.'),
    remote: gitReference.nullish().describe('Git remote. Default: `origin`.'),
    push: optionalFlag('Whether to push the branch first. Default: false.'),
    title: nameOfLength(1000).nullish().meta({
      description:
        'Title of the pull request. Default: the subject of the only commit, or the name of the worktree.',
    }),
    body: z.string().max(65_536).nullish().meta({
      description: 'Text of the pull request. Default: the subjects of the commits.',
    }),
    draft: optionalFlag('Whether to create a draft. Default: false.'),
    dry_run: requestFields.dry_run,
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
  errors: ['conflict', 'invalid', 'storage_full'],
});
