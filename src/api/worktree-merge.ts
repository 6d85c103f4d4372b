import { z } from 'zod';
import { givenName, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { gitReference, worktree } from './worktrees.ts';

const worktreeParam = { worktree_id: z.string().describe('The worktree.') };

const conflict = z
  .looseObject({
    path: z.string(),
    kind: z.string().describe('As git names it: contents, modify/delete, rename/rename and so on.'),
    message: z.string().describe("Git's message; it may be empty."),
  })
  .meta({ id: 'MergeConflict', description: 'A file in which git cannot decide.' });
export type Conflict = z.output<typeof conflict>;

const commit = z
  .looseObject({
    commit: z.string(),
    subject: z.string(),
    author: z.string().describe('The name of its author.'),
    authored_at: timestamp,
  })
  .meta({ id: 'FinishedCommit', description: 'A commit of a worktree.' });

const file = z
  .looseObject({
    path: z.string(),
    change: z.enum(['added', 'deleted', 'modified']),
    lines_added: z.int().nullable().describe('null: a binary file.'),
    lines_deleted: z.int().nullable(),
  })
  .meta({ id: 'FinishedFile', description: 'A file that a merge or a rebase changes.' });

const common = {
  worktree,
  outcome: z
    .enum(['planned', 'done', 'nothing_to_do'])
    .describe('planned: this is what would happen. nothing_to_do: the branch has it all already.'),
  source_commit: z.string().describe('The commit at which the branch of the worktree is.'),
  target: z.string().describe('The branch that it is merged into or rebased onto.'),
  target_commit: z.string().describe('The commit at which that branch was.'),
  commits: z
    .array(commit)
    .describe('What the worktree has beyond the target, newest first: at most 100.'),
  commit_count: z.int(),
  files: z.array(file).describe('What changes in the target: at most 500 files.'),
  file_count: z.int(),
  uncommitted: z
    .array(z.string())
    .describe('Changes in the worktree that are not committed: at most 100 names.'),
  uncommitted_count: z.int(),
  obstacles: z
    .array(z.string())
    .describe('Why it is refused as things are, and what to do; empty: nothing prevents it.'),
  notes: z.array(z.string()).describe('What is worth knowing before it happens.'),
};

const moved = {
  ...common,
  how: z
    .enum(['fast_forward', 'merge_commit', 'squash', 'replay', 'none'])
    .describe(
      'fast_forward: the branch moves to a commit that exists. replay: the commits are written again. none: there is nothing to do, or a conflict.',
    ),
  result_commit: z
    .string()
    .nullable()
    .describe('The commit at which the branch is afterwards; null while it is planned.'),
  result_tree: z
    .string()
    .nullable()
    .describe('What the branch holds afterwards, as the id of a tree; null: there are conflicts.'),
  conflicts: z.array(conflict).describe('Where git cannot decide; nothing is changed then.'),
  conflict_in: z.string().nullable().describe('Of a rebase: the commit that conflicts.'),
  committer: z
    .string()
    .nullable()
    .describe('Who commits, by the settings of git; null: it does not know.'),
  checkout: z
    .string()
    .nullable()
    .describe('The directory that has the branch checked out, and whose files follow it.'),
};

const finished = z
  .looseObject(moved)
  .meta({ id: 'WorktreeFinish', description: 'What a merge or a rebase does, or has done.' });
export type MergeResult = z.output<typeof finished>;

/** Two of them fit into a body, also where every character is escaped. */
const commitMessage = z.string().min(1).max(16_384);

const wish = {
  commit_message: commitMessage
    .nullish()
    .describe('Commit what is not committed in the worktree first, with this message.'),
  dry_run: z
    .boolean()
    .nullish()
    .describe('Default: true, which changes nothing and says what would happen.'),
  expected_tree: z
    .string()
    .regex(/^[0-9a-f]{40,64}$/)
    .nullish()
    .describe(
      'Refuse if the result would differ from what was shown: the result_tree of an earlier answer.',
    ),
};

export const mergeWorktree = endpoint({
  method: 'POST',
  path: '/v1/worktrees/{worktree_id}/merge',
  summary: 'Merge the branch of a worktree into another branch, or show what that would do',
  params: worktreeParam,
  body: z.strictObject({
    into: gitReference
      .nullish()
      .describe('The branch. Default: the one that the worktree began at.'),
    squash: z.boolean().nullish().describe('Make one commit of all. Default: false.'),
    message: commitMessage
      .nullish()
      .describe(
        'Of the commit of the merge; with it, one is made even if the branch could be moved forward.',
      ),
    ...wish,
  }),
  response: finished,
  errors: ['not_found', 'conflict', 'invalid', 'storage_full'],
});

export const rebaseWorktree = endpoint({
  method: 'POST',
  path: '/v1/worktrees/{worktree_id}/rebase',
  summary: 'Write the commits of a worktree again on top of a branch, or show what that would do',
  params: worktreeParam,
  body: z.strictObject({
    onto: gitReference
      .nullish()
      .describe('The branch. Default: the one that the worktree began at.'),
    ...wish,
  }),
  response: finished,
  errors: ['not_found', 'conflict', 'invalid', 'storage_full'],
});

const pullRequest = z
  .looseObject({
    ...common,
    remote: z.string().describe('The name of the remote.'),
    remote_url: z.string().describe('Where that is; a password in it is left out.'),
    branch: z.string().describe('The branch there, from which the pull request is made.'),
    pushed: z
      .boolean()
      .describe(
        'Whether that branch is at source_commit: in a plan, as the repository knows it, because a plan connects to no remote.',
      ),
    title: z.string(),
    body: z.string(),
    draft: z.boolean(),
    url: z.string().nullable().describe('The pull request; null while it is planned.'),
  })
  .meta({ id: 'WorktreePullRequest', description: 'The pull request of a worktree.' });
export type PullRequest = z.output<typeof pullRequest>;

export const openPullRequest = endpoint({
  method: 'POST',
  path: '/v1/worktrees/{worktree_id}/pull-request',
  summary: 'Open a pull request with `gh` for the branch of a worktree, or show what that would do',
  params: worktreeParam,
  body: z.strictObject({
    into: gitReference
      .nullish()
      .describe('The branch to merge into. Default: the one that the worktree began at.'),
    remote: gitReference.nullish().describe('The remote. Default: origin.'),
    push: z
      .boolean()
      .nullish()
      .describe('Push the branch first. Default: false: nothing is pushed.'),
    title: givenName(1000)
      .nullish()
      .describe('Default: the subject of the only commit, or the name of the worktree.'),
    body: z.string().max(65_536).nullish().describe('Default: the subjects of the commits.'),
    draft: z.boolean().nullish().describe('Default: false.'),
    dry_run: wish.dry_run,
    expected_commit: z
      .string()
      .regex(/^[0-9a-f]{40,64}$/)
      .nullish()
      .describe('Refuse if the branch is elsewhere: the source_commit of an earlier answer.'),
    expected_url: z
      .string()
      .nullish()
      .describe('Refuse if the remote is elsewhere: the remote_url of an earlier answer.'),
  }),
  bodyLimit: 512 * 1024,
  response: pullRequest,
  errors: ['not_found', 'conflict', 'invalid'],
});
