import { SessionTokens } from '../../../core/access/session-tokens.ts';
import type { Config } from '../../../core/config/schema.ts';
import { agentTools } from '../../teams/gateway/agent-tools.ts';
import { ToolPolicy } from '../../teams/gateway/tool-policy.ts';
import { processToolkit } from '../../teams/gateway/process-tools.ts';
import { type TeamFacts, ToolGateway } from '../../teams/gateway/service.ts';
import { TeamToolPolicy } from '../../teams/gateway/team-tool-policy.ts';
import type { ToolOffers } from '../../teams/gateway/tool-offers.ts';
import { teamToolkit } from '../../teams/gateway/team-tools.ts';
import { previewWorktree } from '../../work/worktrees/create-worktree.ts';
import type { Base } from '../base.ts';
import type { RuntimeOptions } from '../options.ts';
import type { Processes } from './processes.ts';
import type { Sessions } from './sessions.ts';
import type { Storage } from './storage.ts';
import type { Teams } from './teams.ts';
import type { Worktrees } from './worktrees.ts';

export type Gateway = ReturnType<typeof buildGateway>;

/** Builds the tools of agents, the tool policy, and the ways in which agents reach the tools. */
export function buildGateway(
  base: Base,
  needs: {
    storage: Storage;
    sessions: Sessions;
    processes: Processes;
    worktrees: Worktrees;
    teams: Teams;
    offers: ToolOffers;
  },
  { sessionTokens = new SessionTokens() }: Pick<RuntimeOptions, 'sessionTokens'>,
) {
  const { address, config, clock } = base;
  const { sessions, processes, worktrees, teams, offers } = needs;
  const toolPolicy = new ToolPolicy({
    sessions: sessions.service,
    runner: sessions.runner,
    freed: () => config.now.gateway.free,
  });
  const gate = new TeamToolPolicy({
    toolPolicy,
    initScripts: worktrees.initScripts,
    previewWorktree: (directory, worktree_name) =>
      previewWorktree(worktrees.git, { directory, worktree_name }),
  });
  const service = new ToolGateway({
    ...base,
    offers,
    sessionStore: sessions.store,
    toolkits: [
      processToolkit({ processes: processes.service, toolPolicy }),
      teamToolkit({
        teams: teams.service,
        messages: teams.messages,
        spawns: teams.spawns,
        views: teams.views,
        clock,
        toolPolicy,
        gate,
        settings: () => config.now.teams,
      }),
    ],
    idempotencyStore: needs.storage.idempotencyStore,
    teamFacts: () => teamFacts(config.now),
  });
  const toolsFor = agentTools({
    gateway: service,
    tokens: sessionTokens,
    othersOf: (id) => base.db.peek((rx) => sessions.store.mcpServers(rx, id)),
    url: () => config.now.public_base_url ?? address.url,
    clock,
    offers,
  });
  return { service, sessionTokens, offers, toolsFor };
}

/** Returns the part of the team configuration that agents can read. */
function teamFacts({ teams }: Config): TeamFacts {
  return {
    cadreTeamManagePermissions: {
      non_lead_can_add_members: teams.non_lead_can_add_members,
      non_lead_can_remove_members: teams.non_lead_can_remove_members,
    },
    cadreTeamModelPresets: teams.model_presets,
  };
}
