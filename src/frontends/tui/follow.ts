import { isDelta, type RuntimeEventRecord, type StreamGap } from '../../api/events.ts';
import type { Client } from '../../client/client.ts';
import type { EventScope } from '../../client/event-scope.ts';
import { isRestart } from '../../client/frames.ts';
import { streamEvents } from '../../client/stream.ts';
import { AppError, isUnreachable } from '../../api/errors.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { Observable } from './observable.ts';

/** The state of a stream: the first reading, connected, lost and being reconnected, or refused by the server. */
export type Connection =
  | { state: 'reading' }
  | { state: 'live' }
  | { state: 'lost'; since: number; isRestart?: boolean }
  | { state: 'refused'; why: string };

/** Events that arrive within this time are taken as one batch, which costs the screen one frame. */
export const BATCH_MS = 50;
/**
 * After a batch with more text than anybody reads, the next one is taken after a longer time: a flood costs the terminal
 * a few frames, and not one for each batch.
 */
const FLOOD_CHARACTERS_PER_MS = 20;
const FLOOD_MS = 600;
/** A server that does not answer is asked again after this time. */
const RETRY_MS = 500;

export interface FollowOptions {
  client: Client;
  clock: Clock;
  scope: EventScope;
  signal: AbortSignal;
  /** Reads what is stored and resolves with the seq to follow after. Called again while no server answers. */
  begin: () => Promise<number | 'latest'>;
  take: (events: readonly RuntimeEventRecord[]) => void;
  /** Stays as it is after `signal` has aborted. */
  connection: Observable<Connection>;
  /**
   * Called again while no server answers. Until it has resolved, `take` gets no events, because a reader may list everything
   * again after a gap.
   */
  onGap?: (gap: StreamGap) => Promise<unknown> | void;
}

/** Calls `begin`, then passes the events after it to `take` in batches. Reconnects by itself, until `signal` aborts. */
export async function follow(options: FollowOptions): Promise<void> {
  const { signal, connection } = options;
  try {
    const after = await untilAnswered(options);
    if (after !== null) await followFrom(options, after);
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof AppError)) throw error;
    connection.set({ state: 'refused', why: error.message });
  }
}

/** The result of `begin`, once a server answers; null where `signal` aborted before. Throws a refusal. */
export async function untilAnswered<T>(
  options: Pick<FollowOptions, 'clock' | 'signal' | 'connection'> & { begin: () => Promise<T> },
): Promise<T | null> {
  const { begin, clock, signal, connection } = options;
  if (!signal.aborted) connection.set({ state: 'reading' });
  return repeatedly(begin, options, () => connection.set({ state: 'lost', since: clock.now() }));
}

/** Calls `work` until a server answers. `onAway` is called after the first call without an answer. */
async function repeatedly<T>(
  work: () => Promise<T>,
  { clock, signal }: Pick<FollowOptions, 'clock' | 'signal'>,
  onAway: () => void = () => undefined,
): Promise<T | null> {
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      return await work();
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      if (isFirst && !signal.aborted) onAway();
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }
  return null;
}

async function followFrom(
  { client, clock, scope, signal, take, connection, onGap }: FollowOptions,
  after: number | 'latest',
): Promise<void> {
  let waiting: RuntimeEventRecord[] = [];
  let wait = BATCH_MS;
  /** How many gaps are being handled, and the end of the last one. */
  let gaps = 0;
  let handled: Promise<unknown> = Promise.resolve();
  const flush = () => {
    const events = waiting;
    waiting = [];
    wait = charactersOf(events) > FLOOD_CHARACTERS_PER_MS * wait ? FLOOD_MS : BATCH_MS;
    if (!signal.aborted && events.length > 0) take(events);
  };
  const flushUnlessGap = () => {
    if (gaps === 0) flush();
  };
  const handleGap = (gap: StreamGap) => {
    // The waiting events are older than the gap.
    flush();
    gaps += 1;
    handled = handled
      .then(() => repeatedly(async () => onGap?.(gap), { clock, signal }))
      .catch(() => undefined)
      .finally(() => {
        gaps -= 1;
        flushUnlessGap();
      });
  };
  const onConnection = (now: { lost: true; error: Error } | { lost: false }) => {
    if (signal.aborted) return;
    if (!now.lost) return connection.set({ state: 'live' });
    connection.set({ state: 'lost', since: clock.now(), isRestart: isRestart(now.error) });
  };
  onConnection({ lost: false });
  const events = streamEvents({
    client,
    clock,
    ...scope,
    after,
    signal,
    onGap: handleGap,
    onConnection,
  });
  for await (const event of events) {
    if (waiting.length === 0) clock.after(wait, flushUnlessGap);
    waiting.push(event);
  }
}

/** The number of characters by which events make a text grow. */
export function charactersOf(events: readonly RuntimeEventRecord[]): number {
  return events.reduce((sum, event) => sum + (isDelta(event) ? event.payload.text.length : 0), 0);
}
