import { handoffNameOf } from '../../api/after-limit.ts';
import { conflictError, isAppError } from '../../api/errors.ts';
import type { Shim } from '../../core/children/shim/shim.ts';
import type { Base, RuntimeOptions } from './base.ts';
import { buildChildren } from './build/children.ts';
import { buildProviders } from './build/providers.ts';
import { buildSessions } from './build/sessions.ts';
import { buildStorage } from './build/storage.ts';
import { buildGateway, buildTeams } from './build/teams.ts';
import { buildProcesses, buildSnapshots, buildWorktrees } from './build/work.ts';
import type { CheckProcesses } from '../conversations/goals/check-runner.ts';
import { GoalService } from '../conversations/goals/service.ts';
import { GoalStore } from '../conversations/goals/store.ts';
import { WatchService } from '../conversations/watches/service.ts';
import { WatchStore } from '../conversations/watches/store.ts';
import type { CheckoutSummary } from '../conversations/handoff/digest.ts';
import { HandoffService, LimitHandoffs } from '../conversations/handoff/service.ts';
import { ForkService } from '../conversations/forks/service.ts';
import { QueueInboxSource } from '../conversations/queue/inbox-source.ts';
import { QueueService } from '../conversations/queue/service.ts';
import { QueueStore } from '../conversations/queue/store.ts';
import { ReviewService } from '../conversations/reviews/service.ts';
import { ToolOffers, TOOLS_WITHIN_MS } from '../teams/gateway/tool-offers.ts';
import { TeamStore } from '../teams/store.ts';
import { digestPrinted, readPrinted } from '../work/processes/reading.ts';
import { RaceRunner } from '../work/races/runner.ts';
import { RaceService } from '../work/races/service.ts';
import { RaceStore } from '../work/races/store.ts';
import type { SnapshotService } from '../work/snapshots/service.ts';
import { readBase } from '../work/worktrees/create-worktree.ts';
import { WorktreeStore } from '../work/worktrees/store.ts';
import { lazyHooks } from './lazy-hooks.ts';
import { lazySearch } from './search.ts';
import { sessionEnded } from './session-end.ts';
import type { Undo } from '../../core/lib/undo.ts';

export type Components = ReturnType<typeof buildComponents>;

/** Builds each component after the components that it needs. Nothing runs by itself yet, and no row is written. */
export function buildComponents(
  base: Base,
  options: RuntimeOptions,
  shim: Shim | null,
  undo: Undo,
) {
  const rows = { teams: new TeamStore(base), worktrees: new WorktreeStore(base) };
  const storage = buildStorage(base, undo);
  const children = buildChildren(base, rows.worktrees, shim);
  const providers = buildProviders(base, children, options);
  const sessions = buildSessions(base, { storage, children, providers, teams: rows.teams });
  const { store: sessionStore, inbox, scheduler, limits, service: sessionService } = sessions;
  const hooks = lazyHooks(base, {
    feed: storage.feed,
    supervisor: children.supervisor,
    approval: (rx, id) => sessionStore.approvals.get(rx, id),
    session: (rx, id) => sessionStore.session(rx, id),
    decide: ({ session_id, id }, decision, by, saveResponse) =>
      sessionService.decide(session_id, id, { decision }, by, saveResponse),
  });
  const processes = buildProcesses(base, { storage, children, sessions });
  const worktrees = buildWorktrees(base, {
    storage,
    children,
    sessions,
    processes,
    providers,
    store: rows.worktrees,
  });
  const snapshots = buildSnapshots(base, { children, sessions, worktrees });
  const { goals, watches } = buildChecks(base, { sessions, processes, snapshots, storage });
  const handoffs = buildHandoffs(base, { children, sessions, worktrees, snapshots });
  const limitHandoffs = new LimitHandoffs({
    ...base,
    ...sessions,
    handoffs,
    kinds: providers.registry,
    isAllowed: (directory, agent) => worktrees.initScripts.allowsHandoff(directory, agent),
  });
  const races = buildRaces(base, { storage, sessions, processes, worktrees, snapshots, goals });
  const forks = buildForks(base, { sessions, worktrees, snapshots });
  const { toolsWithinMs: withinMs = TOOLS_WITHIN_MS } = options;
  const offers = new ToolOffers({ ...base, sessionStore, withinMs });
  const served = { storage, providers, sessions, worktrees, offers };
  const teams = buildTeams(base, { ...served, store: rows.teams });
  const queueStore = new QueueStore(base.db);
  const queued = { ...base, store: queueStore, inbox };
  const source = new QueueInboxSource({ ...queued, scheduler });
  const conversations = { sessionStore, sessions: sessionService };
  const queue = new QueueService({ ...queued, ...conversations, source, limits });
  const reviews = new ReviewService({
    ...base,
    ...conversations,
    queue,
    snapshots: snapshots.service,
  });
  const gateway = buildGateway(base, { ...served, processes, teams, children }, options);
  const searching = undo.use(
    lazySearch(base, {
      store: sessions.store,
      teams: rows.teams,
      shortage: () => storage.budget.shortage(),
    }),
  );
  const lower = {
    storage,
    children,
    providers,
    sessions,
    goals,
    watches,
    handoffs,
    limitHandoffs,
    forks,
    queue,
    hooks,
  };
  return { ...lower, processes, worktrees, snapshots, races, reviews, teams, gateway, searching };
}

function buildChecks(
  base: Base,
  needs: Pick<Components, 'sessions' | 'processes' | 'snapshots' | 'storage'>,
) {
  const { processes, snapshots, storage } = needs;
  const { store: sessionStore, inbox, scheduler } = needs.sessions;
  const checked = {
    ...base,
    sessionStore,
    inbox,
    scheduler,
    processes: {
      run: (body, saveResponse) => processes.service.run(body, saveResponse),
      find: (rx, id) => processes.store.processes.get(rx, id),
      kill: (tx, id, reason) =>
        tx.whenDurable(() => processes.runner.kill(id, { status: 'killed', reason })),
      done: (id) => processes.runner.done(id),
      readTails: async (id) => (await readPrinted(storage.logs, id)).tails,
    } satisfies CheckProcesses,
  };
  const goals = new GoalService({
    ...checked,
    store: new GoalStore(base),
    hasChangedFiles: (turn) => snapshots.taker.hasChangedFiles(turn),
  });
  const watches = new WatchService({
    ...checked,
    store: new WatchStore(base),
    digestOutput: ({ process_id, exit_code }) =>
      digestPrinted(storage.logs, process_id, String(exit_code)),
  });
  return { goals, watches };
}

function buildRaces(
  base: Base,
  needs: Pick<
    Components,
    'storage' | 'sessions' | 'processes' | 'worktrees' | 'snapshots' | 'goals'
  >,
) {
  const { storage, worktrees, snapshots } = needs;
  const { store: sessionStore, inbox, service: sessions } = needs.sessions;
  const { goals } = needs;
  const store = new RaceStore({ ...base, sessionStore, inbox, goals });
  const runner = new RaceRunner({
    ...base,
    store,
    sessions,
    goals,
    feed: storage.feed,
    opening: worktrees.opening,
    worktrees: worktrees.store,
    afterLimit: () =>
      handoffNameOf(base.config.now.sessions.after_limit) === null ? undefined : 'resume',
    readDiff: (id) =>
      snapshots.service.diff(id, { against: 'start', path: [], stat: true, exact: false }),
  });
  const service = new RaceService({
    ...base,
    store,
    runner,
    sessionStore,
    sessions,
    goals,
    inbox,
    worktrees: worktrees.service,
    worktreeStore: worktrees.store,
    readBase: (directory, ref) => readBase(worktrees.git, directory, ref),
    sessionEnded: (id) => sessionEnded(base, needs, id),
    assertRoom: storage.assertRoom,
  });
  return { store, runner, service };
}

function buildHandoffs(
  base: Base,
  needs: Pick<Components, 'children' | 'sessions' | 'worktrees' | 'snapshots'>,
): HandoffService {
  const { children, sessions, worktrees, snapshots } = needs;
  return new HandoffService({
    ...base,
    ...sessions,
    sessions: sessions.service,
    claims: worktrees.claims,
    readCheckout: (id) => readCheckout(snapshots.service, id),
    temporaryDirectory: ({ id, sandbox: chosen }) => {
      const { tmp } = children.sandbox.privateDirectories({ session_id: id, caller_id: null });
      return { path: tmp, inAgent: children.sandbox.holdsAgent(chosen) ? '/tmp' : tmp };
    },
  });
}

function buildForks(
  base: Base,
  needs: Pick<Components, 'sessions' | 'worktrees' | 'snapshots'>,
): ForkService {
  const { sessions, worktrees, snapshots } = needs;
  const files = snapshots.service;
  return new ForkService({
    ...base,
    ...sessions,
    sessions: sessions.service,
    claims: worktrees.claims,
    openInWorktree: (...args) => worktrees.opening.openDrafted(...args),
    async filesOf(turn) {
      const snapshot = await files.endOf(turn);
      if (snapshot.head_commit === null)
        throw conflictError(
          `the files of turn ${turn.turn_id} belong to no commit: commit the files first`,
        );
      return {
        commit: snapshot.head_commit,
        writeTo: (worktree) => files.writeTo(worktree, snapshot),
      };
    },
    restoreFiles: async (turn) => files.restoreAll(await files.endOf(turn)),
  });
}

/** Resolves with the state of the files of a session; null if git cannot read them. */
async function readCheckout(
  files: Pick<SnapshotService, 'diff' | 'branch'>,
  sessionId: string,
): Promise<CheckoutSummary | null> {
  const query = { path: [], stat: true, exact: false };
  try {
    const changed = await files.diff(sessionId, { ...query, against: 'start' });
    const uncommitted = await files.diff(sessionId, { ...query, against: 'head' });
    const branch = await files.branch(sessionId);
    const { head_commit: commit } = uncommitted;
    return { branch, commit, changed: changed.files, uncommitted: uncommitted.files };
  } catch (error) {
    if (isAppError(error, 'conflict')) return null;
    throw error;
  }
}
