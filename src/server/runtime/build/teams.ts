import type { ProviderId } from '../../../api/provider-kinds.ts';
import { Broadcasts } from '../../teams/broadcasts.ts';
import { Dispatcher } from '../../teams/dispatcher.ts';
import { MessageService } from '../../teams/messages.ts';
import { TeamService } from '../../teams/service.ts';
import { SpawnService } from '../../teams/spawn.ts';
import { TeamStore } from '../../teams/store.ts';
import { TeamViews } from '../../teams/view.ts';
import type { Base } from '../base.ts';
import type { NeedsOf } from '../hooks.ts';
import type { Providers } from './providers.ts';
import type { Sessions } from './sessions.ts';
import type { Storage } from './storage.ts';
import type { Worktrees } from './worktrees.ts';

export type Teams = ReturnType<typeof buildTeams>;

/** Builds teams, the messages of their members, and the spawning of members. */
export function buildTeams(
  base: Base,
  needs: { storage: Storage; providers: Providers; sessions: Sessions; worktrees: Worktrees },
) {
  const { config } = base;
  const { assertRoom } = needs.storage;
  const { registry } = needs.providers;
  const { store: sessionStore, service: sessions, inbox, blobs } = needs.sessions;
  const { store: worktreeStore, service: worktrees, claims } = needs.worktrees;
  const hooks = {} as Pick<NeedsOf<typeof TeamService>, 'onDeleted' | 'onLeft'> &
    Pick<NeedsOf<typeof TeamViews>, 'takesTools'>;
  const store = new TeamStore(base);
  const dispatcher = new Dispatcher({ ...base, store, sessionStore, inbox });
  const service = new TeamService({
    ...base,
    store,
    sessionStore,
    sessions,
    worktrees: worktreeStore,
    dispatcher,
    onDeleted: (tx, id) => hooks.onDeleted(tx, id),
    onLeft: (tx, id) => hooks.onLeft(tx, id),
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
    takesTools: (id) => hooks.takesTools(id),
  });
  return { store, service, broadcasts, messages, spawns, views, hooks };
}
