import { z } from 'zod';
import { ownerQuery } from './common.ts';
import { endpoint } from './endpoint.ts';
import { runtimeEventRecord } from './event-schemas.ts';
import { eventGroups, eventKinds, sequenceNumber, streamGap } from './events.ts';
import { processParam } from './processes.ts';
import { sessionParam } from './sessions.ts';
import { teamParam } from './teams.ts';

/** The values of a filter: every group, and every kind. */
const patterns = [...eventGroups.map((group) => `${group}.*`), ...eventKinds];

const kindPattern = z
  .enum(patterns, {
    error: ({ input }) =>
      `there is no kind "${String(input)}": use a kind such as turn.completed, or one of the groups ${eventGroups.map((group) => `${group}.*`).join(', ')}`,
  })
  .meta({
    id: 'KindPattern',
    description: 'A kind of event, or a group of kinds such as "turn.*".',
  });

const kindFilter = z
  .array(kindPattern)
  .min(1)
  .optional()
  .describe(
    'Return only events of these kinds. May be repeated. "turn.*" matches every kind of the group.',
  );

const replayQuery = {
  kind: kindFilter,
  after_seq: sequenceNumber.default(0).describe('Return only events after this sequence number.'),
  limit: z
    .int()
    .min(1)
    .max(10_000)
    .default(500)
    .describe('Maximum number of events. A page also ends at 8 MiB.'),
};

const streamQuery = {
  kind: kindFilter,
  after_seq: z
    .union([sequenceNumber, z.literal('latest')])
    .optional()
    .describe(
      'Return only events after this sequence number; a number takes precedence over Last-Event-ID. "latest": only new events; Last-Event-ID takes precedence over it.',
    ),
};

const gapFrame = { 'stream.gap': streamGap };

export const replayEvents = endpoint({
  method: 'GET',
  path: '/v1/events',
  summary: 'Get stored events of the whole server',
  query: replayQuery,
  response: z.array(runtimeEventRecord),
});

export const streamEvents = endpoint({
  method: 'GET',
  path: '/v1/events/stream',
  summary: 'Stream events of the whole server: first stored events, then live events',
  answers: 'stream',
  frames: gapFrame,
  query: streamQuery,
  response: runtimeEventRecord,
});

export const replaySessionEvents = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/events',
  summary: 'Get stored events of a session',
  params: sessionParam,
  query: replayQuery,
  response: z.array(runtimeEventRecord),
  errors: ['not_found'],
});

export const streamSessionEvents = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/events/stream',
  summary: 'Stream events of a session: first stored events, then live events',
  answers: 'stream',
  frames: gapFrame,
  params: sessionParam,
  query: streamQuery,
  response: runtimeEventRecord,
  errors: ['not_found'],
});

export const replayProcessEvents = endpoint({
  method: 'GET',
  path: '/v1/processes/{process_id}/events',
  summary: 'Get stored events of a process',
  params: processParam,
  query: { ...replayQuery, ...ownerQuery },
  response: z.array(runtimeEventRecord),
  errors: ['not_found'],
});

export const streamProcessEvents = endpoint({
  method: 'GET',
  path: '/v1/processes/{process_id}/events/stream',
  summary: 'Stream events of a process: first stored events, then live events',
  answers: 'stream',
  frames: gapFrame,
  params: processParam,
  query: { ...streamQuery, ...ownerQuery },
  response: runtimeEventRecord,
  errors: ['not_found', 'too_many'],
});

export const replayTeamEvents = endpoint({
  method: 'GET',
  path: '/v1/teams/{team_id}/events',
  summary: 'Get stored events of a team',
  params: teamParam,
  query: replayQuery,
  response: z.array(runtimeEventRecord),
  errors: ['not_found'],
});

export const streamTeamEvents = endpoint({
  method: 'GET',
  path: '/v1/teams/{team_id}/events/stream',
  summary: 'Stream events of a team: first stored events, then live events',
  answers: 'stream',
  frames: gapFrame,
  params: teamParam,
  query: streamQuery,
  response: runtimeEventRecord,
  errors: ['not_found'],
});
