import { endpoints } from '../../src/api/index.ts';
import type { Session, Turn } from '../../src/api/sessions.ts';
import type { Client } from '../../src/client/client.ts';
import { streamEvents } from '../../src/client/stream.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import type { UntypedEvent } from './untyped-events.ts';

const endings = new Set(['turn.completed', 'turn.interrupted', 'turn.failed']);

/** Opens a session of the acp provider in a directory. */
export function openSession(client: Client, cwd: string, more: object = {}): Promise<Session> {
  return client.call(endpoints.createSession, { body: { provider: 'acp', cwd, ...more } });
}

/** Opens a session in the directory of a server. */
export async function withSession<Place extends { client: Client; directory: string }>(
  opening: Place | Promise<Place>,
  more: object = {},
) {
  const { client, directory } = await opening;
  const session = await openSession(client, directory, more);
  return { client, directory, id: session.id, session };
}

/** Sends a text as a turn. */
export function send(client: Client, session_id: string, text: string) {
  const body = { input: [{ type: 'text' as const, text }] };
  return client.call(endpoints.sendTurn, { params: { session_id }, body });
}

/** Sends a text and reads the session's events of that turn to its end. */
export async function runTurn(
  client: Client,
  sessionId: string,
  text: string,
): Promise<{ events: UntypedEvent[]; turn: Turn }> {
  const { turn_id } = await send(client, sessionId, text);
  const events: UntypedEvent[] = [];
  for await (const event of streamEvents({ client, clock: systemClock, sessionId })) {
    if (event.turn_id !== turn_id) continue;
    events.push(event);
    if (endings.has(event.kind)) break;
  }
  const turn = await client.call(endpoints.getTurn, { params: { session_id: sessionId, turn_id } });
  return { events, turn };
}

/** The events of a kind. */
export function ofKind(events: readonly UntypedEvent[], kind: string): UntypedEvent[] {
  return events.filter((event) => event.kind === kind);
}
