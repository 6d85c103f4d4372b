import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { RuntimeEventRecord } from '../api/events.ts';
import { endpoints } from '../api/index.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Client } from './client.ts';

/** A lost connection is tried again after this long, doubled up to the second number. */
const RETRY_MS = 100;
const MAX_RETRY_MS = 5000;

/** Events after `requested` are missing: trimmed up to `trimmed_seq`; or `requested` is beyond `latest_seq`. */
export interface StreamGap {
  requested: number;
  trimmed_seq: number;
  latest_seq: number;
}

export interface StreamOptions {
  client: Client;
  clock: Clock;
  /** Only one session; absent: the whole runtime. */
  sessionId?: string | undefined;
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
  { client, sessionId, kinds, signal, onGap }: StreamOptions,
  after: number | 'latest',
): AsyncGenerator<RuntimeEventRecord | { latestSeq: number }, void> {
  const query = { after_seq: after, ...(kinds ? { kind: [...kinds] } : {}) };
  const more = signal ? { signal } : {};
  const response =
    sessionId === undefined
      ? await client.open(endpoints.streamEvents, { query }, undefined, more)
      : await client.open(
          endpoints.streamSessionEvents,
          { params: { session_id: sessionId }, query },
          undefined,
          more,
        );
  yield { latestSeq: Number(response.headers['x-seq'] ?? 0) };
  const ready: RuntimeEventRecord[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }: EventSourceMessage) => {
      if (event === 'stream.gap') onGap?.(JSON.parse(data) as StreamGap);
      else if (id !== undefined) ready.push(JSON.parse(data) as RuntimeEventRecord);
    },
  });
  response.setEncoding('utf8');
  try {
    for await (const chunk of response) {
      parser.feed(chunk as string);
      yield* ready.splice(0);
    }
  } catch (error) {
    throw new AppError('unreachable', 'the connection to the server was lost', { cause: error });
  } finally {
    response.destroy();
  }
}
