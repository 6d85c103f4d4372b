import { endpoints } from '../../../api/index.ts';
import type { SessionService } from '../../conversations/sessions/service.ts';
import { acceptance } from '../../conversations/sessions/turn.ts';
import type { SessionOpening } from '../../work/worktrees/session-opening.ts';
import { type Mount, onePage, senderOf } from '../mount.ts';

/** Sessions, their turns and their approvals. */
export function sessionRoutes(
  mount: Mount,
  sessions: SessionService,
  opening: SessionOpening,
): void {
  mount(endpoints.createSession, ({ body, saveResponse }) => opening.open(body, saveResponse));
  mount(endpoints.getSession, ({ params }) => sessions.get(params.session_id));
  mount(endpoints.updateSession, ({ params, body }) => sessions.update(params.session_id, body));
  mount(endpoints.listCommands, ({ params }) => sessions.commands(params.session_id));
  mount(endpoints.listSessions, async ({ query, setHeader }) =>
    onePage(await sessions.list(query), setHeader),
  );
  mount(endpoints.closeSession, ({ params, body, saveResponse }) =>
    sessions.close(params.session_id, body.reason ?? null, saveResponse),
  );
  mount(endpoints.resumeSession, ({ params, saveResponse }) =>
    sessions.resume(params.session_id, saveResponse),
  );

  mount(endpoints.sendTurn, async ({ params, body, saveResponse }) =>
    acceptance(await sessions.send(params.session_id, body, saveResponse)),
  );
  mount(endpoints.listTurns, async ({ params, query, setHeader }) =>
    onePage(await sessions.turns(params.session_id, query), setHeader),
  );
  mount(endpoints.getTurn, ({ params }) => sessions.turn(params.session_id, params.turn_id));
  mount(endpoints.listItems, ({ params }) => sessions.items(params.session_id, params.turn_id));
  mount(endpoints.getItem, ({ params }) =>
    sessions.item(params.session_id, params.turn_id, params.item_id),
  );
  mount(endpoints.interruptTurn, ({ params, saveResponse }) =>
    sessions.interrupt(params.session_id, params.turn_id, saveResponse),
  );

  mount(endpoints.decideApproval, ({ params, body, bearer, saveResponse }) =>
    sessions.decide(
      params.session_id,
      params.approval_id,
      body,
      senderOf({ bearer }),
      saveResponse,
    ),
  );
  mount(endpoints.getApproval, ({ params }) =>
    sessions.approval(params.session_id, params.approval_id),
  );
  mount(endpoints.listSessionApprovals, async ({ params, query, setHeader }) =>
    onePage(await sessions.approvals({ ...query, session_id: params.session_id }), setHeader),
  );
  mount(endpoints.listApprovals, async ({ query, setHeader }) =>
    onePage(await sessions.approvals(query), setHeader),
  );
}
