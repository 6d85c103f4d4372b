import type { RuntimeEventRecord } from '../../../api/events.ts';
import { streamEvents } from '../../../client/stream.ts';
import { AppError, unreachableError } from '../../../api/errors.ts';
import { durationText } from '../../terminal/time.ts';
import { shortId } from '../output.ts';
import type { CommandContext } from '../world.ts';

/**
 * Yields the events of a session after a seq. Reports a lost connection and its return. If the server stays away for
 * longer than `reconnectMs`, throws `unreachable` with the next step; undefined sets no limit.
 */
export async function* sessionEvents(
  { world, client }: CommandContext,
  deps: {
    sessionId: string;
    after: number;
    reconnectMs: number | undefined;
    signal?: AbortSignal;
    /** Only events of these kinds, or groups of kinds. */
    kinds?: readonly string[];
    tell: (text: string) => void;
    /** Called when the connection is back. */
    onReturn?: () => unknown;
  },
): AsyncGenerator<RuntimeEventRecord, void> {
  const { sessionId, reconnectMs, tell, ...more } = deps;
  let isLost = false;
  try {
    yield* streamEvents({
      ...more,
      client,
      clock: world.clock,
      sessionId,
      reconnectMs,
      onConnection({ lost }) {
        isLost = lost;
        const what = lost ? 'connection lost: reconnecting' : 'reconnected';
        tell(`cadre: ${what}\n`);
        if (!lost) deps.onReturn?.();
      },
    });
  } catch (error) {
    if (!isLost || !(error instanceof AppError) || error.code !== 'unreachable') throw error;
    throw unreachableError(
      `the server has not answered for ${durationText(reconnectMs ?? 0)}: when the server runs again, ` +
        `see the result with cadre sessions show ${shortId(sessionId)}`,
      { cause: error },
    );
  }
}
