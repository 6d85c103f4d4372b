import { z } from 'zod';
import { ownerQuery } from './common.ts';
import { endpoint, type Fields } from './endpoint.ts';
import type { ServerErrorCode } from './errors.ts';
import { eventPaths, type EventScopeName } from './event-scopes.ts';
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

const kindFilter = z.array(kindPattern).min(1).optional().meta({
  description:
    'Return only events of these kinds. May be repeated. "turn.*" matches every kind of the group.',
});

const replayQuery = {
  kind: kindFilter,
  after_seq: sequenceNumber.default(0).describe('Return only events after this sequence number.'),
  limit: z.int().min(1).max(10_000).default(500).meta({
    description: 'Maximum number of events. A page also ends at 8 MiB.',
  }),
};

const streamQuery = {
  kind: kindFilter,
  after_seq: z
    .union([sequenceNumber, z.literal('latest')])
    .optional()
    .meta({
      description:
        'Return only events after this sequence number; a number takes precedence over Last-Event-ID. "latest": only new events; Last-Event-ID takes precedence over it.',
    }),
};

const eventList = z.array(runtimeEventRecord);

/** Describes both routes of a scope; the summaries name its records with the text `of`. */
function routesOf<P extends Fields, Q extends Fields>(
  scope: EventScopeName,
  of: string,
  {
    params,
    query,
    streamErrors = [],
  }: {
    params: P;
    query: Q;
    streamErrors?: readonly ServerErrorCode[];
  },
) {
  const path = eventPaths[scope];
  return {
    replay: endpoint(`GET ${path}`, {
      summary: `Get stored events of ${of}`,
      params,
      query: { ...replayQuery, ...query },
      response: eventList,
    }),
    stream: endpoint(`GET ${path}/stream`, {
      summary: `Stream events of ${of}: first stored events, then live events`,
      answers: 'stream',
      frames: { 'stream.gap': streamGap },
      params,
      query: { ...streamQuery, ...query },
      response: runtimeEventRecord,
      errors: streamErrors,
    }),
  };
}

/** The routes that replay and stream events, by their scope. */
export const eventRoutes = {
  runtime: routesOf('runtime', 'the whole server', { params: {}, query: {} }),
  session: routesOf('session', 'a session', {
    params: sessionParam,
    query: {},
  }),
  process: routesOf('process', 'a process', {
    params: processParam,
    query: ownerQuery,
    streamErrors: ['too_many'],
  }),
  team: routesOf('team', 'a team', { params: teamParam, query: {} }),
};
