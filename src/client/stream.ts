import type { RuntimeEventRecord, StreamGap } from '../api/events.ts';
import { endpoints } from '../api/index.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Client } from './client.ts';
import { framesOf } from './frames.ts';

/** A lost connection is tried again after this long, doubled up to the second number. */
const RETRY_MS = 100;
const MAX_RETRY_MS = 5000;

export interface StreamOptions {
  client: Client;
  clock: Clock;
  /** Only one session; absent: the whole runtime. */
  sessionId?: string | undefined;
  /** Only one process. */
  processId?: string | undefined;
  /** Only one team. */
  teamId?: string | undefined;
  /** Only events of these kinds, or groups of kinds. */
  kinds?: readonly string[] | undefined;
  /** Only events after this one; `latest`: only what is new. Absent: from the start. */
  after?: number | 'latest' | undefined;
  signal?: AbortSignal;
  /** Told where the server says that what follows is not whole. */
  onGap?: (gap: StreamGap) => void;
  /** Told when the connection was lost and when it is back; without it a lost connection ends the stream with its error. */
  onConnection?: (
    state: { lost: true; error: AppError } | { lost: false; after: number | 'latest' },
  ) => void;
}

/**
 * Events in order, none missed and none twice: a lost connection is taken up again after the last event
 * that was given. Ends when `signal` aborts.
 */
export async function* streamEvents(
  options: StreamOptions,
): AsyncGenerator<RuntimeEventRecord, void> {
  const { clock, signal, onConnection } = options;
  let after = options.after ?? 0;
  let retry = RETRY_MS;
  let lost = false;
  while (!signal?.aborted) {
    try {
      for await (const part of connection(options, after)) {
        if (!('seq' in part)) {
          // From now on it is known what "latest" was, should the connection break before the first event.
          if (after === 'latest') after = part.latestSeq;
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
      if (!lost) onConnection({ lost: true, error });
      lost = true;
    }
    if (signal?.aborted) return;
    if (!lost && !onConnection) return;
    if (!lost)
      onConnection?.({
        lost: true,
        error: new AppError('unreachable', 'the server ended the stream'),
      });
    lost = true;
    await clock.sleep(retry, signal).catch(() => undefined);
    retry = Math.min(retry * 2, MAX_RETRY_MS);
  }
}

/** One connection: the newest seq once it stands, then its events. Throws `unreachable` when it breaks. */
async function* connection(
  { client, sessionId, processId, teamId, kinds, signal, onGap }: StreamOptions,
  after: number | 'latest',
): AsyncGenerator<RuntimeEventRecord | { latestSeq: number }, void> {
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
