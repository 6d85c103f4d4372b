import { type EventOf, isDescribed } from '../api/events.ts';
import type { Client } from './client.ts';
import { storedEvents } from './replay.ts';

/** The notices of a session that the log still has, oldest first. Throws AppError. */
export async function readNotices(
  client: Client,
  sessionId: string,
): Promise<EventOf<'session.notice'>[]> {
  const found: EventOf<'session.notice'>[] = [];
  for await (const event of storedEvents(client, { sessionId, kinds: ['session.notice'] }, 0))
    if (isDescribed(event) && event.kind === 'session.notice') found.push(event);
  return found;
}
