import { Readable } from 'node:stream';
import { endpoints } from '../../../api/index.ts';
import type { MessageService } from '../../teams/messages.ts';
import type { TeamService } from '../../teams/service.ts';
import type { SpawnService } from '../../teams/spawn.ts';
import type { TeamViews } from '../../teams/view.ts';
import { type Mount, onePage } from '../mount.ts';

/** The services of teams. */
export interface Teams {
  teams: TeamService;
  messages: MessageService;
  spawns: SpawnService;
  views: TeamViews;
}

/** Teams, their members, and the messages between them. */
export function teamRoutes(mount: Mount, { teams, messages, spawns, views }: Teams): void {
  mount(endpoints.createTeam, ({ body, keep }) => teams.create(body, keep));
  mount(endpoints.listTeams, async ({ query, setHeader }) =>
    onePage(await teams.list(query), setHeader),
  );
  mount(endpoints.getTeam, ({ params }) => teams.get(params.team_id));
  mount(endpoints.deleteTeam, async ({ params }) => {
    await teams.delete(params.team_id);
    return undefined;
  });
  mount(endpoints.getTeamView, async ({ params, query }) =>
    Readable.from(views.textInSlices(await views.view(params.team_id, query))),
  );
  mount(endpoints.getCommsDiagnostics, () => teams.diagnostics());

  mount(endpoints.addMember, ({ params, body, keep }) =>
    teams.addMember(params.team_id, body, keep),
  );
  mount(endpoints.removeMember, ({ params }) =>
    teams.removeMember(params.team_id, params.agent_id),
  );
  mount(endpoints.setLead, ({ params, body, keep }) =>
    teams.setLead(params.team_id, body.lead_agent_id, keep),
  );
  mount(endpoints.spawnMember, ({ params, body, keep }) =>
    spawns.spawn(params.team_id, body, keep),
  );
  mount(endpoints.interruptTeam, ({ params, keep }) => teams.interruptAll(params.team_id, keep));

  mount(endpoints.sendMessage, ({ params, body, keep }) =>
    messages.send(params.team_id, body, keep),
  );
  mount(endpoints.broadcast, ({ params, body, keep }) =>
    messages.broadcast(params.team_id, body, keep),
  );
  mount(endpoints.listMessages, async ({ params, query, setHeader }) =>
    onePage(await messages.list(params.team_id, query), setHeader),
  );
  mount(endpoints.cancelMessage, ({ params, keep }) =>
    messages.cancel(params.team_id, params.message_id, keep),
  );
  mount(endpoints.listDeliveries, async ({ params, query, setHeader }) =>
    onePage(await messages.deliveries(params.team_id, query), setHeader),
  );
  mount(endpoints.retryDelivery, ({ params, keep }) =>
    messages.retry(params.team_id, params.delivery_id, keep),
  );
}
