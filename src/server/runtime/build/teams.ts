import type { ProviderId } from '../../../api/provider-kinds.ts';
import { SessionTokens } from '../../../core/access/session-tokens.ts';
import type { Config } from '../../../core/config/schema.ts';
import { Broadcasts } from '../../teams/broadcasts.ts';
import { Dispatcher } from '../../teams/dispatcher.ts';
import { agentTools } from '../../teams/gateway/agent-tools.ts';
import { processToolkit } from '../../teams/gateway/process-tools.ts';
import { ToolGateway, type TeamFacts } from '../../teams/gateway/service.ts';
import { TeamToolPolicy } from '../../teams/gateway/team-tool-policy.ts';
import { teamToolkit } from '../../teams/gateway/team-tools.ts';
import type { ToolOffers } from '../../teams/gateway/tool-offers.ts';
import { ToolPolicy } from '../../teams/gateway/tool-policy.ts';
import { MessageService } from '../../teams/messages.ts';
import { TeamService } from '../../teams/service.ts';
import { SpawnService } from '../../teams/spawn.ts';
import type { TeamStore } from '../../teams/store.ts';
import { TeamViews } from '../../teams/view.ts';
import { previewWorktree } from '../../work/worktrees/create-worktree.ts';
import { isUsable } from '../../work/worktrees/worktree.ts';
import { ownerOf } from '../../../core/children/sandbox/private-directories.ts';
import { readNote } from '../shim-note.ts';
import type { Base, RuntimeOptions } from '../base.ts';
import type { Children } from './children.ts';
import type { Providers } from './providers.ts';
import type { Sessions } from './sessions.ts';
import type { Storage } from './storage.ts';
import type { Processes, Worktrees } from './work.ts';

interface Needs {
  storage: Storage;
  providers: Providers;
  sessions: Sessions;
  worktrees: Worktrees;
  offers: ToolOffers;
}

export type Teams = ReturnType<typeof buildTeams>;

export function buildTeams(base: Base, needs: Needs & { store: TeamStore }) {
  const { config } = base;
  const { assertRoom } = needs.storage;
  const { registry } = needs.providers;
  const { store: sessionStore, service: sessions, inbox, blobs } = needs.sessions;
  const { store: worktreeStore, service: worktrees, claims } = needs.worktrees;
  const { store, offers } = needs;
  const dispatcher = new Dispatcher({ ...base, store, sessionStore, inbox });
  const service = new TeamService({
    ...base,
    store,
    sessionStore,
    sessions,
    worktrees: worktreeStore,
    dispatcher,
    budgets: needs.sessions.budgets.guard,
    assertRoom,
  });
  const broadcasts = new Broadcasts({ ...base, store, dispatcher });
  const messages = new MessageService({
    ...base,
    store,
    sessionStore,
    dispatcher,
    broadcasts,
    blobs,
    maxHops: () => config.now.teams.max_hops,
    acceptsImages: (id: ProviderId) => {
      const provider = registry.find(id);
      return provider?.capabilities.images === true && !provider.imagesByAgent;
    },
    assertRoom,
  });
  const spawns = new SpawnService({
    ...base,
    store,
    sessionStore,
    sessions,
    messages,
    worktrees,
    worktreeStore,
    claims,
    agentFor: (provider, asked) => registry.agentFor(provider, asked),
    presets: () => config.now.teams.model_presets,
    maxSpawned: () => config.now.teams.max_spawned_per_session,
  });
  const views = new TeamViews({
    ...base,
    store,
    sessionStore,
    worktrees: worktreeStore,
    offers,
  });
  return { store, service, broadcasts, messages, spawns, views };
}

/** Builds the tools of agents, the tool policy, and the ways in which agents reach the tools. */
export function buildGateway(
  base: Base,
  needs: Needs & { processes: Processes; teams: Teams; children: Children },
  {
    sessionTokens = new SessionTokens(readNote(needs.children.shim)?.secret),
  }: Pick<RuntimeOptions, 'sessionTokens'>,
) {
  const { address, config, clock } = base;
  const { sessions, processes, worktrees, teams, offers } = needs;
  const { networks, sandbox } = needs.children;
  const toolPolicy = new ToolPolicy({
    sessions: sessions.service,
    runner: sessions.runner,
    freed: () => config.now.gateway.free,
    allowsSandboxed: (session) => sandbox.allowsTools(session.sandbox),
  });
  const teamToolPolicy = new TeamToolPolicy({
    toolPolicy,
    initScripts: worktrees.initScripts,
    filesOf: ({ id }) => sandbox.filesOfAgent(id),
    previewWorktree: (directory, worktree_name) =>
      previewWorktree(worktrees.git, { directory, worktree_name }),
    hasWorktree: (repo_root, name) =>
      base.db.read((rx) => worktrees.store.named(rx, repo_root, name).some(isUsable)),
  });
  const service = new ToolGateway({
    ...base,
    offers,
    sessionStore: sessions.store,
    toolkits: [
      processToolkit({
        processes: processes.service,
        toolPolicy,
        portsAt: (directory) => base.db.peek((rx) => worktrees.store.around(rx, directory)),
        describeSandbox: (session) => sandbox.describe(session.cwd, session.sandbox),
      }),
      teamToolkit({
        teams: teams.service,
        messages: teams.messages,
        spawns: teams.spawns,
        views: teams.views,
        clock,
        toolPolicy,
        teamToolPolicy,
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
    url: (id) => {
      const own = sandbox.privateDirectories({ session_id: id, caller_id: null });
      return networks.toolsUrl(ownerOf(own)) ?? config.now.public_base_url ?? address.url;
    },
    reattachMs: config.now.server.reattach_ms,
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
