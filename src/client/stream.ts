import type { RuntimeEventRecord, StreamGap } from '../api/events.ts';
import { eventRoutes } from '../api/event-routes.ts';
import { AppError, isUnreachable, unreachableError } from '../api/errors.ts';
import type { CallInput, Client } from './client.ts';
import { type EventScope, scopeInput } from './event-scope.ts';
import { eventsIn, framesOf } from './frames.ts';
import { resume, type ResumeOptions } from './resume.ts';
import { STREAM_ENDED } from './wire.ts';

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
      isLost: isUnreachable,
      ended: () => unreachableError(STREAM_ENDED),
    },
    options,
  );
}

/** One connection: yields the newest seq once it is open, then events. Throws `unreachable` when it breaks. */
async function* connection(
  { client: several, signal, onGap, ...scope }: StreamOptions,
  after: number | 'latest',
): AsyncGenerator<RuntimeEventRecord | { latestSeq: number }, void> {
  const { name, id, params, query } = scopeInput(scope);
  const client = id === null ? several : await several.clientOf(id);
  if (client.streamEvents) {
    yield* client.streamEvents(scope, after, signal, onGap);
    return;
  }
  const input = { params, query: { after_seq: after, ...query } } as CallInput<StreamEndpoint>;
  const endpoint = eventRoutes[name].stream as StreamEndpoint;
  const response = await client.open(endpoint, input, signal);
  yield { latestSeq: Number(response.headers['x-seq'] ?? 0) };
  yield* eventsIn(framesOf(response), onGap);
}

type StreamEndpoint = typeof eventRoutes.runtime.stream;
