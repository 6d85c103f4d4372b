import type { ProviderId } from '../../../api/provider-kinds.ts';
import { Broadcasts } from '../../teams/broadcasts.ts';
import { Dispatcher } from '../../teams/dispatcher.ts';
import { MessageService } from '../../teams/messages.ts';
import { TeamService } from '../../teams/service.ts';
import { SpawnService } from '../../teams/spawn.ts';
import type { TeamStore } from '../../teams/store.ts';
import { TeamViews } from '../../teams/view.ts';
import type { ToolOffers } from '../../teams/gateway/tool-offers.ts';
import type { Base } from '../base.ts';
import type { Providers } from './providers.ts';
import type { Sessions } from './sessions.ts';
import type { Storage } from './storage.ts';
import type { Worktrees } from './worktrees.ts';

export type Teams = ReturnType<typeof buildTeams>;

/** Builds teams, the messages of their members, and the spawning of members. */
export function buildTeams(
  base: Base,
  needs: {
    storage: Storage;
    providers: Providers;
    sessions: Sessions;
    worktrees: Worktrees;
    store: TeamStore;
    offers: ToolOffers;
  },
) {
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
