import { Readable } from 'node:stream';
import { endpoints } from '../../../api/index.ts';
import type { MessageService } from '../../teams/messages.ts';
import type { TeamService } from '../../teams/service.ts';
import type { SpawnService } from '../../teams/spawn.ts';
import type { TeamViews } from '../../teams/view.ts';
import type { Mount } from '../mount.ts';
import type { GatewayBearer, ToolGateway } from '../../teams/gateway/service.ts';
import type { Bearer } from '../../../core/access/admit.ts';

export interface Teams {
  teams: TeamService;
  messages: MessageService;
  spawns: SpawnService;
  views: TeamViews;
}

export function teamRoutes(mount: Mount, { teams, messages, spawns, views }: Teams): void {
  mount(endpoints.createTeam, ({ body, saveResponse }) => teams.create(body, saveResponse));
  mount.page(endpoints.listTeams, ({ query }) => teams.list(query));
  mount(endpoints.getTeam, ({ params }) => teams.get(params.team_id));
  mount(endpoints.deleteTeam, async ({ params }) => {
    await teams.delete(params.team_id);
    return undefined;
  });
  mount(endpoints.getTeamView, async ({ params, query }) =>
    Readable.from(views.textInSlices(await views.view(params.team_id, query))),
  );
  mount(endpoints.getCommsDiagnostics, () => teams.diagnostics());

  mount(endpoints.addMember, ({ params, body, saveResponse }) =>
    teams.addMember(params.team_id, body, saveResponse),
  );
  mount(endpoints.removeMember, ({ params }) =>
    teams.removeMember(params.team_id, params.agent_id),
  );
  mount(endpoints.setLead, ({ params, body, saveResponse }) =>
    teams.setLead(params.team_id, body.lead_agent_id, saveResponse),
  );
  mount(endpoints.spawnMember, ({ params, body, saveResponse }) =>
    spawns.spawn(params.team_id, body, saveResponse),
  );
  mount(endpoints.interruptTeam, ({ params, saveResponse }) =>
    teams.interruptAll(params.team_id, saveResponse),
  );

  mount(endpoints.sendMessage, ({ params, body, saveResponse }) =>
    messages.send(params.team_id, body, saveResponse),
  );
  mount(endpoints.broadcast, ({ params, body, saveResponse }) =>
    messages.broadcast(params.team_id, body, saveResponse),
  );
  mount.page(endpoints.listMessages, ({ params, query }) => messages.list(params.team_id, query));
  mount(endpoints.cancelMessage, ({ params, saveResponse }) =>
    messages.cancel(params.team_id, params.message_id, saveResponse),
  );
  mount.page(endpoints.listDeliveries, ({ params, query }) =>
    messages.deliveries(params.team_id, query),
  );
  mount(endpoints.retryDelivery, ({ params, saveResponse }) =>
    messages.retry(params.team_id, params.delivery_id, saveResponse),
  );
}

export function gatewayRoutes(mount: Mount, gateway: ToolGateway): void {
  mount(endpoints.getCapabilities, ({ bearer }) => gateway.capabilitiesFor(gatewayBearer(bearer)));
  mount(endpoints.invokeTool, ({ body, bearer, disconnected }) =>
    gateway.invoke(body, gatewayBearer(bearer), disconnected),
  );
}

/**
 * Returns what a token allows: an agent's token is valid for its own session; of the others, one with the scope admin
 * is the operator's, and one with the scope tools an external caller's.
 */
function gatewayBearer(bearer: Bearer | null): GatewayBearer {
  return {
    sessionId: bearer?.scope === 'agent' ? bearer.id : null,
    isOperator: bearer?.scope === 'admin',
    external: bearer?.scope === 'tools' ? { id: bearer.id, mode: bearer.permissionMode } : null,
  };
}
