import { type EventOf, isDescribed } from '../api/events.ts';
import type { Client } from './client.ts';
import { replay } from './replay.ts';

/** A page of notices; a session has few. */
const PAGE = 1000;

/** The notices of a session that the log still has, oldest first. Throws AppError. */
export async function readNotices(
  client: Client,
  sessionId: string,
): Promise<EventOf<'session.notice'>[]> {
  const scope = { sessionId, kinds: ['session.notice'] };
  const found: EventOf<'session.notice'>[] = [];
  for (let after = 0; ;) {
    const { value, headers } = await replay(client, scope, { after_seq: after, limit: PAGE });
    for (const event of value)
      if (isDescribed(event) && event.kind === 'session.notice') found.push(event);
    const next = Number(headers['x-next-after-seq'] ?? after);
    if (value.length < PAGE || next <= after) return found;
    after = next;
  }
}
