import { z } from 'zod';
import { timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { sessionParam } from './sessions.ts';

const moment = z
  .enum(['start', 'end'])
  .meta({ id: 'SnapshotMoment', description: 'The beginning of a turn, or its end.' });
export type Moment = z.output<typeof moment>;

export const snapshot = z
  .looseObject({
    session_id: z.string(),
    turn_id: z.string(),
    moment,
    tree: z
      .string()
      .nullable()
      .describe('The id of the tree of files; null: the snapshot could not be taken.'),
    head_commit: z.string().nullable().describe('The commit that was checked out.'),
    root: z.string().nullable().describe('The directory of the files.'),
    problem: z.string().nullable().describe('Why it could not be taken.'),
    is_whole: z
      .boolean()
      .describe('false: changed files were left out, because they are too large or too many.'),
    is_late: z
      .boolean()
      .describe(
        'Whether the turn had begun before the snapshot was taken, because that took too long.',
      ),
    taken_at: timestamp,
    took_ms: z.int(),
  })
  .meta({
    id: 'Snapshot',
    description: 'The files of a session at the beginning or end of a turn.',
  });
export type Snapshot = z.output<typeof snapshot>;

const sessionSnapshots = z.looseObject({
  session_id: z.string(),
  enabled: z.boolean().describe('Whether snapshots are taken at its next turn.'),
  chosen: z
    .boolean()
    .nullable()
    .describe('What a person chose for this session; null: snapshots.enabled decides.'),
  snapshots: z.array(snapshot).describe('The newest 1,000, oldest first.'),
});

export const getSnapshots = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/snapshots',
  summary: 'List the snapshots of a session, and whether more are taken',
  params: sessionParam,
  response: sessionSnapshots,
  errors: ['not_found'],
});

export const setSnapshots = endpoint({
  method: 'PATCH',
  path: '/v1/sessions/{session_id}/snapshots',
  summary: 'Switch the snapshots of a session on or off, from its next turn on',
  params: sessionParam,
  body: z.strictObject({
    enabled: z.boolean().nullable().describe('null: as the configuration says.'),
  }),
  response: sessionSnapshots,
  errors: ['not_found', 'session_closed'],
});

const atTurn = {
  turn_id: z.string().min(1).max(200),
  moment: moment.default('end').describe('The files at the end of that turn, or at its start.'),
};

export const listSessionFiles = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/files',
  summary: 'List the files of a session that git does not ignore, now or at a turn',
  params: sessionParam,
  query: {
    turn_id: atTurn.turn_id.optional().describe('Absent: the files as they are now.'),
    moment: atTurn.moment,
    path: z.string().min(1).max(4096).optional().describe('Only files at or below this path.'),
  },
  response: z.looseObject({
    session_id: z.string(),
    turn_id: z.string().nullable(),
    moment: moment.nullable(),
    root: z.string(),
    taken_at: timestamp,
    files: z
      .array(
        z
          .looseObject({
            path: z.string(),
            mode: z.string().describe('As git writes it, such as 100644.'),
            blob: z.string(),
            bytes: z.int().nullable(),
          })
          .meta({ id: 'FileOfSession', description: 'A file of a session.' }),
      )
      .describe('At most 5,000.'),
    is_cut: z.boolean().describe('Whether there are more.'),
  }),
  errors: ['not_found', 'conflict'],
});

export const restoreFile = endpoint({
  method: 'PATCH',
  path: '/v1/sessions/{session_id}/files',
  summary: 'Write a file as it was at a turn, unless somebody else changed it since',
  params: sessionParam,
  body: z.strictObject({
    file: z.string().min(1).max(4096).describe('Its path, relative to the root of the checkout.'),
    ...atTurn,
    force: z
      .boolean()
      .default(false)
      .describe(
        'Write it even if somebody else may have changed it since; what is there is kept beside it, under another name.',
      ),
  }),
  response: z.looseObject({
    session_id: z.string(),
    path: z.string(),
    turn_id: z.string(),
    moment,
    changed: z.boolean().describe('false: the file was like that already.'),
    kept_as: z
      .string()
      .nullable()
      .describe('The name, relative to the root, under which the file of before was kept.'),
  }),
  errors: ['not_found', 'conflict', 'turn_in_progress'],
});
