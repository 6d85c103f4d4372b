import { z } from 'zod';
import { component, flag, nullableText, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { sessionParam } from './sessions.ts';

const moment = z
  .enum(['start', 'end'])
  .meta({ id: 'SnapshotMoment', description: 'The start or end of a turn.' });
export type Moment = z.output<typeof moment>;

export const snapshot = component(
  'Snapshot',
  'The files of a session at the start or end of a turn.',
  {
    session_id: z.string(),
    turn_id: z.string(),
    moment,
    tree: nullableText('Git tree id of the files. Null if the snapshot could not be taken.'),
    head_commit: nullableText('Commit that was checked out. Null if the repository had no commit.'),
    root: nullableText('Directory of the files.'),
    problem: nullableText('Reason why the snapshot could not be taken. Null if it was taken.'),
    is_whole: flag(
      'Whether the snapshot is complete. False if changed files were left out because they are too large or too many.',
    ),
    is_late: flag(
      'Whether the turn started before the snapshot was taken, because taking it took too long.',
    ),
    taken_at: timestamp,
    took_ms: z.int(),
  },
);
export type Snapshot = z.output<typeof snapshot>;

const sessionSnapshots = z.looseObject({
  session_id: z.string(),
  enabled: flag('Whether a snapshot is taken at the next turn.'),
  chosen: z.boolean().nullable().meta({
    description:
      'Snapshot setting of this session. Null if the configuration key `snapshots.enabled` applies.',
  }),
  snapshots: z.array(snapshot).describe('Newest 1,000 snapshots, oldest first.'),
});

export const getSnapshots = endpoint('GET /v1/sessions/{session_id}/snapshots', {
  summary: 'List the snapshots of a session, and whether new ones are taken',
  params: sessionParam,
  response: sessionSnapshots,
});

export const setSnapshots = endpoint('PATCH /v1/sessions/{session_id}/snapshots', {
  summary: 'Turn the snapshots of a session on or off, starting with its next turn',
  params: sessionParam,
  body: z.strictObject({
    enabled: z.boolean().nullable().meta({
      description: 'Whether to take snapshots. Null: use the setting of the configuration.',
    }),
  }),
  response: sessionSnapshots,
  errors: ['session_closed'],
});

const atTurn = {
  turn_id: z.string().min(1).max(200),
  moment: moment
    .default('end')
    .describe('Whether to use the files at the start or the end of the turn.'),
};

export const listSessionFiles = endpoint('GET /v1/sessions/{session_id}/files', {
  summary: 'List the files of a session that git does not ignore, current or at a turn',
  params: sessionParam,
  query: {
    turn_id: atTurn.turn_id.optional().describe('Turn id. Default: the current files.'),
    moment: atTurn.moment,
    path: z.string().min(1).max(4096).optional().meta({
      description: 'Return only files at or below this path.',
    }),
  },
  response: z.looseObject({
    session_id: z.string(),
    turn_id: z.string().nullable(),
    moment: moment.nullable(),
    root: z.string(),
    taken_at: timestamp,
    files: z
      .array(
        component('SessionFile', 'A file of a session.', {
          path: z.string(),
          mode: text("Mode of the file in git's notation, such as 100644."),
          blob: z.string(),
          bytes: z.int().nullable(),
        }),
      )
      .describe('Files. At most 5,000.'),
    is_cut: flag('Whether the list is incomplete because of the limit.'),
  }),
  errors: ['conflict', 'storage_full', 'shutting_down'],
});

export const restoreFile = endpoint('PATCH /v1/sessions/{session_id}/files', {
  summary:
    'Restore a file to its content at a turn, unless someone else has changed the file since',
  params: sessionParam,
  body: z.strictObject({
    file: z.string().min(1).max(4096).meta({
      description: 'Path of the file, relative to the root of the checkout.',
    }),
    ...atTurn,
    force: z.boolean().default(false).meta({
      description:
        'Whether to restore the file even if someone else may have changed it since. The current file is kept under another name.',
    }),
  }),
  response: z.looseObject({
    session_id: z.string(),
    path: z.string(),
    turn_id: z.string(),
    moment,
    changed: flag('Whether the file was changed. False if it already had this content.'),
    kept_as: nullableText(
      'Path of the copy of the replaced file, relative to the root. Null if no copy was made.',
    ),
  }),
  errors: ['conflict', 'storage_full', 'turn_in_progress'],
});
