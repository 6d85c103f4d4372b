import path from 'node:path';
import type { ListSessionsRequest, ListSessionsResponse } from '@agentclientprotocol/sdk/unstable';
import { endpoints } from '../../api/index.ts';
import type { Session } from '../../api/sessions.ts';
import type { ServerLink } from './server-link.ts';

/** How many sessions the server is asked for at once. */
const PAGE = 100;

/**
 * A page of the sessions that can be gone on with, newest first; with `cwd`, of those of that directory. A page has as
 * many as one of the server has, but at least one as long as there are any.
 */
export async function listSessions(
  link: ServerLink,
  { cwd, cursor }: ListSessionsRequest,
): Promise<ListSessionsResponse> {
  const directory = cwd === undefined || cwd === null ? null : path.resolve(cwd);
  for (let next = cursor ?? undefined; ;) {
    const query = { limit: PAGE, ...(next === undefined ? {} : { cursor: next }) };
    const { value, headers } = await link.ask(endpoints.listSessions, { query });
    const found = value.filter(
      (one) => one.status !== 'closed' && (directory === null || one.cwd === directory),
    );
    const following = headers['x-next-cursor'];
    if (typeof following !== 'string') return { sessions: found.map(infoOf) };
    if (found.length > 0) return { sessions: found.map(infoOf), nextCursor: following };
    next = following;
  }
}

function infoOf({ id, cwd, title, last_activity_at }: Session) {
  return { sessionId: id, cwd, title, updatedAt: new Date(last_activity_at).toISOString() };
}
