import type { RuntimeEventRecord, StreamGap } from '../api/events.ts';
import { endpoints } from '../api/index.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Client } from './client.ts';
import type { EventScope } from './event-scope.ts';
import { framesOf } from './frames.ts';

/** The backoff before a lost connection is opened again: it starts here and doubles up to the maximum. */
const RETRY_MS = 100;
const MAX_RETRY_MS = 5000;

export interface StreamOptions extends EventScope {
  client: Pick<Client, 'open' | 'follow' | 'clientOf'>;
  clock: Clock;
  /** Only events after this seq; `latest`: only new ones. Absent: from the start of the log. */
  after?: number | 'latest' | undefined;
  signal?: AbortSignal;
  /** Called when the server reports that events are missing before the next one. */
  onGap?: (gap: StreamGap) => void;
  /** Called when the connection is lost and when it is back. Without it the stream throws what broke the connection. */
  onConnection?: (
    state: { lost: true; error: AppError } | { lost: false; after: number | 'latest' },
  ) => void;
  /** Called each time that a connection is open. */
  onOpen?: () => void;
  /** For how long a lost connection is opened again, in ms; then the stream throws `unreachable`. Absent: for ever. */
  reconnectMs?: number | undefined;
}

/**
 * Events in order, each exactly once: a lost connection is opened again after the last event that was yielded. Ends
 * when `signal` aborts.
 */
export async function* streamEvents(
  options: StreamOptions,
): AsyncGenerator<RuntimeEventRecord, void> {
  const { clock, signal, onConnection } = options;
  let after = options.after ?? 0;
  let retry = RETRY_MS;
  let lost = false;
  let until = Number.POSITIVE_INFINITY;
  while (!signal?.aborted) {
    let broken = new AppError('unreachable', 'the server ended the stream');
    try {
      for await (const part of connection(options, after)) {
        if (!('seq' in part)) {
          // Fixes the meaning of `latest`, in case the connection breaks before the first event.
          if (after === 'latest') after = part.latestSeq;
          options.onOpen?.();
          if (lost) onConnection?.({ lost: false, after });
          lost = false;
          retry = RETRY_MS;
        } else {
          after = part.seq;
          yield part;
        }
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!(error instanceof AppError) || error.code !== 'unreachable' || !onConnection)
        throw error;
      broken = error;
    }
    if (signal?.aborted) return;
    if (!lost && !onConnection) return;
    if (!lost) {
      onConnection?.({ lost: true, error: broken });
      until = clock.monotonic() + (options.reconnectMs ?? Number.POSITIVE_INFINITY);
    }
    lost = true;
    const left = until - clock.monotonic();
    if (left <= 0) throw broken;
    await clock.sleep(Math.min(retry, left), signal).catch(() => undefined);
    retry = Math.min(retry * 2, MAX_RETRY_MS);
  }
}

/** One connection: yields the newest seq once it is open, then events. Throws `unreachable` when it breaks. */
async function* connection(
  { client: several, sessionId, processId, teamId, kinds, signal, onGap }: StreamOptions,
  after: number | 'latest',
): AsyncGenerator<RuntimeEventRecord | { latestSeq: number }, void> {
  const id = sessionId ?? processId ?? teamId;
  const client = (id === undefined ? undefined : await several.clientOf?.(id)) ?? several;
  if (client.follow) {
    yield* client.follow({ sessionId, processId, teamId, kinds }, after, signal);
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
