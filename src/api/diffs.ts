import { z } from 'zod';
import { timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { sessionParam } from './sessions.ts';

const fileChange = z
  .looseObject({
    path: z
      .string()
      .describe('The path of the file, relative to `root`; bytes that are not UTF-8 are replaced.'),
    old_path: z.string().nullable().describe('Its path before, if the file was renamed.'),
    status: z.enum(['added', 'deleted', 'modified', 'renamed', 'type_changed']),
    old_mode: z.string().nullable().describe("As git writes it, such as 100644; null: it wasn't."),
    new_mode: z.string().nullable(),
    old_blob: z.string().nullable().describe('The id of its content before, as git counts it.'),
    new_blob: z
      .string()
      .nullable()
      .describe('The id of its content now. It changes when the content does.'),
    additions: z.int().nullable().describe('Added lines; null: it is not compared as text.'),
    deletions: z.int().nullable(),
    old_bytes: z.int().nullable().describe('Its size before, if it is not compared as text.'),
    new_bytes: z.int().nullable(),
    patch: z
      .string()
      .nullable()
      .describe(
        'Its part of the unified diff, from the line "diff --git" on; bytes that are not UTF-8 are replaced.',
      ),
    no_patch: z
      .enum(['binary', 'large', 'limit', 'not_asked'])
      .nullable()
      .describe(
        'Why there is no patch. binary: it is no text. large: the file has more than 2 MiB, or its patch more than 512 KiB. limit: the patches before it fill the answer. not_asked: `stat` is true.',
      ),
  })
  .meta({ id: 'FileChange', description: 'What changed in one file.' });
export type FileChange = z.output<typeof fileChange>;

const leftOut = z
  .looseObject({
    path: z.string(),
    reason: z.enum(['large', 'limit', 'repository']),
    bytes: z.int().nullable(),
  })
  .meta({
    id: 'LeftOut',
    description:
      'A changed file whose content was not read. large: it has more than 32 MiB. limit: the changed files before it reach a limit. repository: it is a git repository of its own.',
  });
export type LeftOut = z.output<typeof leftOut>;

export const diffBase = z
  .looseObject({
    kind: z
      .enum(['worktree', 'session', 'head', 'turn'])
      .describe(
        'worktree: the last commit that its worktree shares with the branch at which that began; where that branch is gone or has gone back, the commit from which the worktree was made. session: the commit that was checked out when the session was opened. head: the commit that is checked out. turn: the files at the beginning of a turn.',
      ),
    commit: z.string().nullable().describe('null: there is none, so every file counts as added.'),
    turn_id: z.string().nullable(),
  })
  .meta({ id: 'DiffBase', description: 'What the files of a session are compared with.' });
export type DiffBase = z.output<typeof diffBase>;

export const sessionDiff = z
  .looseObject({
    session_id: z.string(),
    root: z.string().describe('The directory that the paths are relative to.'),
    base: diffBase,
    head_commit: z.string().nullable().describe('The commit that is or was checked out.'),
    taken_at: timestamp.describe('When the files were read.'),
    files: z.array(fileChange).describe('At most 3,000, in the order of their paths.'),
    files_changed: z.int(),
    additions: z.int(),
    deletions: z.int(),
    is_cut: z.boolean().describe('Whether files, patches or lists are missing because of a limit.'),
    left_out: z.array(leftOut).describe('At most 100.'),
    left_out_count: z.int(),
  })
  .meta({
    id: 'SessionDiff',
    description: 'What changed in the directory of a session, committed or not.',
  });
export type SessionDiff = z.output<typeof sessionDiff>;

/** Reads what changed; nothing is written into the repository, and no command that it names is run. */
export const getSessionDiff = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/diff',
  summary: 'What changed in the checkout of a session: its files now against where they began',
  params: sessionParam,
  query: {
    against: z
      .enum(['start', 'head'])
      .default('start')
      .describe(
        'start: the last commit that its worktree shares with the branch at which that began, or what was checked out when the session was opened. head: what is checked out, so that only what is not committed is shown.',
      ),
    since: z
      .string()
      .max(200)
      .optional()
      .describe('A turn: against the files at its beginning, of which there has to be a snapshot.'),
    at: z
      .string()
      .max(200)
      .optional()
      .describe(
        'A turn: the files at its end instead of those of now; without `since`, against its beginning.',
      ),
    path: z
      .array(z.string().min(1).max(4096))
      .max(100)
      .default([])
      .describe('Only files at or below these paths, relative to `root`.'),
    stat: z.boolean().default(false).describe('Only the figures, without patches.'),
    exact: z
      .boolean()
      .default(false)
      .describe(
        "Patches for git apply: of binary files in git's binary form, and none of a file whose patch is not UTF-8, which counts as binary.",
      ),
  },
  response: sessionDiff,
  errors: ['not_found', 'conflict'],
});
