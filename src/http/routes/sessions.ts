import type { FastifyInstance } from 'fastify';
import { endpoints } from '../../api/index.ts';
import type { SessionService } from '../../sessions/service.ts';
import { mount } from '../mount.ts';

/** Sessions and their turns. */
export function sessionRoutes(app: FastifyInstance, sessions: SessionService): void {
  mount(app, endpoints.createSession, ({ body }) => sessions.create(body));
  mount(app, endpoints.getSession, ({ params }) => sessions.get(params.session_id));
  mount(app, endpoints.listSessions, async ({ query, setHeader }) => {
    const { records, nextCursor } = await sessions.list(query);
    if (nextCursor) setHeader('X-Next-Cursor', nextCursor);
    return records;
  });
  mount(app, endpoints.sendTurn, async ({ params, body }) => {
    const { session_id, turn_id } = await sessions.send(params.session_id, body);
    return { session_id, turn_id, status: 'accepted' as const };
  });
  mount(app, endpoints.listTurns, async ({ params, query, setHeader }) => {
    const { records, nextCursor } = await sessions.turns(params.session_id, query);
    if (nextCursor) setHeader('X-Next-Cursor', nextCursor);
    return records;
  });
  mount(app, endpoints.getTurn, ({ params }) => sessions.turn(params.session_id, params.turn_id));
  mount(app, endpoints.listItems, ({ params }) =>
    sessions.items(params.session_id, params.turn_id),
  );
}
