import type { RuntimeEventRecord, StreamGap } from '../api/events.ts';
import { endpoints } from '../api/index.ts';
import { AppError } from '../api/errors.ts';
import type { Client } from './client.ts';
import type { EventScope } from './event-scope.ts';
import { framesOf } from './frames.ts';
import { resume, type ResumeOptions } from './resume.ts';

export interface StreamOptions extends EventScope, ResumeOptions<AppError> {
  client: Pick<Client, 'open' | 'streamEvents' | 'clientOf'>;
  /** Called when the server reports that events are missing before the next one. */
  onGap?: (gap: StreamGap) => void;
}

/**
 * Events in order, each exactly once: a lost connection is opened again after the last event that was yielded. Ends
 * when `signal` aborts.
 */
export function streamEvents(options: StreamOptions): AsyncGenerator<RuntimeEventRecord, void> {
  return resume<RuntimeEventRecord, AppError>(
    {
      open: (after) => connection(options, after),
      isLost: (error): error is AppError =>
        error instanceof AppError && error.code === 'unreachable',
      ended: () => new AppError('unreachable', 'the server ended the event stream'),
    },
    options,
  );
}

/** One connection: yields the newest seq once it is open, then events. Throws `unreachable` when it breaks. */
async function* connection(
  { client: several, sessionId, processId, teamId, kinds, signal, onGap }: StreamOptions,
  after: number | 'latest',
): AsyncGenerator<RuntimeEventRecord | { latestSeq: number }, void> {
  const id = sessionId ?? processId ?? teamId;
  const client = (id === undefined ? undefined : await several.clientOf?.(id)) ?? several;
  if (client.streamEvents) {
    yield* client.streamEvents({ sessionId, processId, teamId, kinds }, after, signal);
    return;
  }
  const query = { after_seq: after, ...(kinds ? { kind: [...kinds] } : {}) };
  const more = signal ? { signal } : {};
  const open = () => {
    if (sessionId !== undefined) {
      const params = { session_id: sessionId };
      return client.open(endpoints.streamSessionEvents, { params, query }, undefined, more);
    }
    if (processId !== undefined) {
      const params = { process_id: processId };
      return client.open(endpoints.streamProcessEvents, { params, query }, undefined, more);
    }
    if (teamId !== undefined) {
      const params = { team_id: teamId };
      return client.open(endpoints.streamTeamEvents, { params, query }, undefined, more);
    }
    return client.open(endpoints.streamEvents, { query }, undefined, more);
  };
  const response = await open();
  yield { latestSeq: Number(response.headers['x-seq'] ?? 0) };
  for await (const { id, event, data } of framesOf(response)) {
    if (event === 'stream.gap') onGap?.(JSON.parse(data) as StreamGap);
    else if (id !== undefined) yield JSON.parse(data) as RuntimeEventRecord;
  }
}
