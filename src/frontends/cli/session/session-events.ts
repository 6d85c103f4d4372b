import type { RuntimeEventRecord } from '../../../api/events.ts';
import { isRestart } from '../../../client/frames.ts';
import { streamEvents } from '../../../client/stream.ts';
import type { Client } from '../../../client/client.ts';
import { isUnreachable, unreachableError } from '../../../api/errors.ts';
import { durationText } from '../../terminal/time.ts';
import { shortId } from '../output.ts';
import type { CommandContext } from '../command-io.ts';

interface Following {
  after: number;
  reconnectMs: number | undefined;
  signal?: AbortSignal;
  /** Only events of these kinds, or groups of kinds. */
  kinds?: readonly string[];
  report: (text: string) => void;
  /** Called when the connection is back. */
  onReturn?: () => unknown;
}

/** Yields the events of a session, as {@link followEvents} does. */
export function sessionEvents(
  context: CommandContext,
  deps: Following & { sessionId: string },
): AsyncGenerator<RuntimeEventRecord, void> {
  const { client } = context;
  const see = `cadre sessions show ${shortId(deps.sessionId)}`;
  return followEvents(context, { ...deps, client, see });
}

/** Returns the line about a lost connection. */
export function lostText(error: Error): string {
  return `cadre: ${isRestart(error) ? 'the server is restarting' : 'connection lost'}: reconnecting\n`;
}

/**
 * Yields events after a seq. Reports a lost connection and its return. If the server stays away for longer than
 * `reconnectMs`, throws `unreachable` with the command `see`; undefined sets no limit.
 */
export async function* followEvents(
  { io }: Pick<CommandContext, 'io'>,
  deps: Following & { client: Client; sessionId?: string; see: string },
): AsyncGenerator<RuntimeEventRecord, void> {
  const { reconnectMs, report, see, ...more } = deps;
  let isLost = false;
  try {
    yield* streamEvents({
      ...more,
      clock: io.clock,
      reconnectMs,
      onConnection(state) {
        isLost = state.lost;
        if (!state.lost) {
          report('cadre: reconnected\n');
          deps.onReturn?.();
          return;
        }
        report(lostText(state.error));
      },
    });
  } catch (error) {
    if (!isLost || !isUnreachable(error)) throw error;
    throw unreachableError(
      `the server has not answered for ${durationText(reconnectMs ?? 0)}: when the server runs again, ` +
        `see the result with ${see}`,
      { cause: error },
    );
  }
}
