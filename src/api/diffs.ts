import { z } from 'zod';
import { component, flag, nullableInteger, nullableText, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { sessionParam } from './sessions.ts';

const fileChange = component('FileChange', 'A changed file.', {
  path: text('Path of the file relative to `root`. Bytes that are not UTF-8 are replaced.'),
  old_path: nullableText('Path of the file before the change. Null unless the file was renamed.'),
  status: z.enum(['added', 'deleted', 'modified', 'renamed', 'type_changed']),
  old_mode: nullableText(
    "Mode of the file before the change in git's notation, such as 100644. Null if the file did not exist.",
  ),
  new_mode: z.string().nullable(),
  old_blob: nullableText('Git object id of the content before the change.'),
  new_blob: nullableText(
    'Git object id of the current content. It changes whenever the content changes.',
  ),
  additions: nullableInteger('Number of added lines. Null if the file is not compared as text.'),
  deletions: z.int().nullable(),
  old_bytes: nullableInteger(
    'Size before the change, in bytes, if the file is not compared as text.',
  ),
  new_bytes: z.int().nullable(),
  patch: nullableText(
    'Part of the unified diff for this file, starting with the line "diff --git". Bytes that are not UTF-8 are replaced. Null if it is left out (see no_patch).',
  ),
  no_patch: z.enum(['binary', 'large', 'limit', 'not_asked']).nullable().meta({
    description:
      'Reason why `patch` is null. `binary`: the file is not text. `large`: the file is larger than 2 MiB or its patch larger than 512 KiB. `limit`: earlier patches fill the response. `not_asked`: the request has `stat` set.',
  }),
});
export type FileChange = z.output<typeof fileChange>;

const leftOut = component(
  'SkippedFile',
  'A changed file whose content was not read. `large`: it is larger than 32 MiB. `limit`: the changed files before it reach a limit. `repository`: it is a separate git repository.',
  {
    path: z.string(),
    reason: z.enum(['large', 'limit', 'repository']),
    bytes: z.int().nullable(),
  },
);
export type SkippedFile = z.output<typeof leftOut>;

export const diffBase = component(
  'DiffBase',
  'Base that the files of a session are compared with.',
  {
    kind: z.enum(['worktree', 'session', 'head', 'turn']).meta({
      description:
        'Kind of the base. `worktree`: the last commit that the worktree shares with the branch it was created from. If that branch no longer exists or was reset, the commit it was created from. `session`: the commit that was checked out when the session was created. `head`: the commit that is checked out. `turn`: the files at the start of a turn.',
    }),
    commit: nullableText(
      'Commit to compare with. Null without such a commit; every file then counts as added.',
    ),
    turn_id: z.string().nullable(),
  },
);
export type DiffBase = z.output<typeof diffBase>;

export const sessionDiff = component(
  'SessionDiff',
  'Changes in the directory of a session, committed or not.',
  {
    session_id: z.string(),
    root: text('Directory that the paths are relative to.'),
    base: diffBase,
    head_commit: nullableText(
      'Commit that is or was checked out. Null if the repository has no commit.',
    ),
    taken_at: timestamp.describe('Time at which the files were read (Unix ms).'),
    files: z.array(fileChange).describe('Changed files, ordered by path. At most 3,000.'),
    files_changed: z.int(),
    additions: z.int(),
    deletions: z.int(),
    is_cut: flag('Whether files, patches or lists are incomplete because of a limit.'),
    left_out: z.array(leftOut).describe('Changed files whose content was not read. At most 100.'),
    left_out_count: z.int(),
  },
);
export type SessionDiff = z.output<typeof sessionDiff>;

/** Reads the changes. It writes nothing to the repository and runs no command that the repository configures. */
export const getSessionDiff = endpoint('GET /v1/sessions/{session_id}/diff', {
  summary: 'Show the changes in the checkout of a session since it started',
  params: sessionParam,
  query: {
    against: z.enum(['start', 'head']).default('start').meta({
      description:
        'Base of the comparison. `start`: for a worktree, the last commit that it shares with the branch it was created from. Otherwise, the commit that was checked out when the session was created. `head`: the commit that is checked out, which shows uncommitted changes only.',
    }),
    since: z.string().max(200).optional().meta({
      description:
        'Turn id. Compare with the files at the start of this turn, which must have a snapshot.',
    }),
    at: z.string().max(200).optional().meta({
      description:
        'Turn id. Compare the files at the end of this turn instead of the current files. Default for `since`: this turn.',
    }),
    path: z.array(z.string().min(1).max(4096)).max(100).default([]).meta({
      description: 'Return only files at or below these paths, relative to `root`.',
    }),
    stat: z.boolean().default(false).meta({
      description: 'Whether to return only the numbers, without patches.',
    }),
    exact: z.boolean().default(false).meta({
      description:
        "Whether to return patches for `git apply`: binary files in git's binary format. A file whose patch is not UTF-8 counts as binary and has no patch.",
    }),
  },
  response: sessionDiff,
  errors: ['conflict', 'storage_full', 'shutting_down'],
});
