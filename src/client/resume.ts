import type { Clock } from '../core/lib/clock.ts';

/** The backoff before a lost connection is opened again: it starts here and doubles up to the maximum. */
const RETRY_MS = 100;
const MAX_RETRY_MS = 5000;

export interface ResumeOptions<Lost> {
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  /** Only events after this seq; `latest`: only new ones. Absent: from the start of the log. */
  after?: number | 'latest' | undefined;
  signal?: AbortSignal | undefined;
  /**
   * Called when the connection is lost and when it is back. Without it, the stream throws what broke the connection, and
   * ends if the server ends it.
   */
  onConnection?:
    | ((state: { lost: true; error: Lost } | { lost: false; after: number | 'latest' }) => void)
    | undefined;
  /** Called each time that a connection is open. */
  onOpen?: (() => void) | undefined;
  /** For how long a lost connection is opened again, in ms; then the stream throws `unreachable`. Absent: for ever. */
  reconnectMs?: number | undefined;
}

/** How connections are opened, and what breaks them. */
export interface Connections<Event, Lost> {
  /** One connection: yields the newest seq once it is open, then events after `after`. Throws when it breaks. */
  open: (after: number | 'latest') => AsyncIterable<Event | { latestSeq: number }>;
  /** Whether an error means that the connection was lost, or cannot be made just now. */
  isLost: (error: unknown) => error is Lost;
  /** The error for a stream that the server ended. */
  ended: () => Lost;
}

/**
 * Events in order, each exactly once: a lost connection is opened again after the last event that was yielded. Ends
 * when `signal` aborts.
 */
export async function* resume<Event extends { seq: number }, Lost extends Error>(
  { open, isLost, ended }: Connections<Event, Lost>,
  options: ResumeOptions<Lost>,
): AsyncGenerator<Event, void> {
  const { clock, signal, onConnection } = options;
  let after = options.after ?? 0;
  let retry = RETRY_MS;
  let lost = false;
  let until = Number.POSITIVE_INFINITY;
  while (!signal?.aborted) {
    let broken = ended();
    try {
      for await (const part of open(after)) {
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
      if (!isLost(error) || !onConnection) throw error;
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
