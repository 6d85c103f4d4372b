import { z } from 'zod';
import { ownerQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { processParam } from './processes.ts';
import { sessionParam } from './sessions.ts';
import { teamParam } from './teams.ts';

/** Every kind of event. Within v1, kinds are added, never changed or removed. */
export const eventKinds = [
  'runtime.started',
  'runtime.recovered',
  'runtime.stopping',
  'storage.trimmed',
  'session.created',
  'session.updated',
  'session.resumed',
  'session.closed',
  'session.failed',
  'turn.accepted',
  'turn.started',
  'turn.interrupt_requested',
  'turn.completed',
  'turn.interrupted',
  'turn.failed',
  'message.delta',
  'message.completed',
  'reasoning.delta',
  'reasoning.completed',
  'tool.started',
  'tool.updated',
  'tool.completed',
  'approval.requested',
  'approval.resolved',
  'plan.updated',
  'usage.updated',
  'process.queued',
  'process.started',
  'process.output',
  'process.kill_requested',
  'process.completed',
  'process.failed',
  'process.timed_out',
  'process.killed',
  'worktree.created',
  'worktree.claimed',
  'worktree.released',
  'worktree.archived',
  'worktree.cleaned',
  'worktree.retained',
  'worktree.cleanup_failed',
  'worktree.restored',
  'worktree.missing',
  'team.created',
  'team.deleted',
  'team.member_joined',
  'team.member_left',
  'team.spawn_failed',
  'team.lead_changed',
  'team.message_created',
  'team.message_cancelled',
  'delivery.pending',
  'delivery.deferred',
  'delivery.injecting',
  'delivery.injected',
  'delivery.consumed',
  'delivery.failed',
  'delivery.cancelled',
] as const;

export type EventKind = (typeof eventKinds)[number];

/**
 * The kinds that tell of an item, or of a process's output, while it grows. Once its end is there they say nothing
 * that it, or the files with the output, do not, and they leave the log later.
 */
export const deltaKinds: ReadonlySet<string> = new Set<EventKind>([
  'message.delta',
  'reasoning.delta',
  'tool.updated',
  'process.output',
]);

/** What a delta, or the event that closes it, is part of: an item, else a process. */
export function settlesWith(event: RuntimeEventRecord): string {
  return (event.payload.item_id as string | undefined) ?? event.process_id ?? '';
}

/** The kinds that close an item with its whole content, or a process. */
export const settlingKinds: ReadonlySet<string> = new Set<EventKind>([
  'message.completed',
  'reasoning.completed',
  'tool.completed',
  'process.completed',
  'process.failed',
  'process.timed_out',
  'process.killed',
]);

/** A sequence number: strictly rising over the whole runtime, never given twice, with holes. */
export const sequenceNumber = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

export const runtimeEventRecord = z
  .looseObject({
    seq: sequenceNumber,
    id: z.string(),
    kind: z
      .string()
      .describe('What happened; kinds may be added.')
      .meta({ examples: [...eventKinds] }),
    scope: z.enum(['runtime', 'session', 'process', 'worktree', 'team']),
    session_id: z.string().nullable(),
    turn_id: z.string().nullable(),
    process_id: z.string().nullable(),
    worktree_id: z.string().nullable(),
    team_id: z.string().nullable(),
    created_at: timestamp,
    v: z.int().describe("The payload's version."),
    payload: z
      .record(z.string(), z.unknown())
      .describe(
        'By kind: the records that changed, without what never changes, or a piece of output.',
      ),
  })
  .meta({
    id: 'RuntimeEventRecord',
    description: 'One thing that happened. It belongs to each scope whose id it carries.',
  });

export type RuntimeEventRecord = z.output<typeof runtimeEventRecord>;

/** Told on a stream where what follows its cursor is not whole. */
export const streamGap = z
  .looseObject({
    requested: sequenceNumber.describe('The cursor.'),
    trimmed_seq: sequenceNumber.describe('The highest seq that retention took from the scope.'),
    latest_seq: sequenceNumber.describe('The newest seq there is.'),
  })
  .meta({
    id: 'StreamGap',
    description: 'What follows on the stream is not all there was after its cursor.',
  });
export type StreamGap = z.output<typeof streamGap>;

/** The kinds that a filter names: `turn.completed` alone, or all of a group as `turn.*`. */
export function kindsMatching(patterns: readonly string[]): Set<EventKind> {
  return new Set(
    patterns.flatMap((pattern) => eventKinds.filter((kind) => matches(pattern, kind))),
  );
}

function matches(pattern: string, kind: string): boolean {
  return pattern.endsWith('.*') ? kind.startsWith(pattern.slice(0, -1)) : kind === pattern;
}

const groups = [...new Set(eventKinds.map((kind) => `${kind.split('.')[0]}.*`))];

const kindPattern = z
  .enum([...groups, ...eventKinds], {
    error: ({ input }) =>
      `there is no kind "${String(input)}"; a kind such as turn.completed, or a group: ${groups.join(', ')}`,
  })
  .meta({ id: 'KindPattern', description: 'A kind of event, or a group of them as "turn.*".' });

const kindFilter = z
  .array(kindPattern)
  .min(1)
  .optional()
  .describe('Only events of these kinds; may be repeated. "turn.*" is every kind of that group.');

const replayQuery = {
  kind: kindFilter,
  after_seq: sequenceNumber.default(0).describe('Only events after this one.'),
  limit: z
    .int()
    .min(1)
    .max(10_000)
    .default(500)
    .describe('How many at most; a page also ends at 8 MiB.'),
};

const streamQuery = {
  kind: kindFilter,
  after_seq: z
    .union([sequenceNumber, z.literal('latest')])
    .optional()
    .describe(
      'Only events after this one; a number wins over Last-Event-ID. "latest": only what is new; Last-Event-ID wins over it.',
    ),
};

const gapFrame = { 'stream.gap': streamGap };

export const replayEvents = endpoint({
  method: 'GET',
  path: '/v1/events',
  summary: 'Replay events of the whole runtime',
  query: replayQuery,
  response: z.array(runtimeEventRecord),
});

export const streamEvents = endpoint({
  method: 'GET',
  path: '/v1/events/stream',
  summary: 'Stream events of the whole runtime: stored ones first, then live ones',
  answers: 'stream',
  frames: gapFrame,
  query: streamQuery,
  response: runtimeEventRecord,
});

export const replaySessionEvents = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/events',
  summary: 'Replay events of a session',
  params: sessionParam,
  query: replayQuery,
  response: z.array(runtimeEventRecord),
  errors: ['not_found'],
});

export const streamSessionEvents = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/events/stream',
  summary: 'Stream events of a session: stored ones first, then live ones',
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
  summary: 'Replay events of a process',
  params: processParam,
  query: { ...replayQuery, ...ownerQuery },
  response: z.array(runtimeEventRecord),
  errors: ['not_found'],
});

export const streamProcessEvents = endpoint({
  method: 'GET',
  path: '/v1/processes/{process_id}/events/stream',
  summary: 'Stream events of a process: stored ones first, then live ones',
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
  summary: 'Replay events of a team',
  params: teamParam,
  query: replayQuery,
  response: z.array(runtimeEventRecord),
  errors: ['not_found'],
});

export const streamTeamEvents = endpoint({
  method: 'GET',
  path: '/v1/teams/{team_id}/events/stream',
  summary: 'Stream events of a team: stored ones first, then live ones',
  answers: 'stream',
  frames: gapFrame,
  params: teamParam,
  query: streamQuery,
  response: runtimeEventRecord,
  errors: ['not_found'],
});
