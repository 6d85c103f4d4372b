import path from 'node:path';
import type { Approval } from '../api/approvals.ts';
import type { Diagnostics, Health, RecoverySummary } from '../api/runtime.ts';
import { Keeper } from '../children/keeper.ts';
import { Ledger } from '../children/ledger.ts';
import { Supervisor } from '../children/supervisor.ts';
import { prepareDirectory } from '../config/data-directory.ts';
import { LiveConfig } from '../config/live.ts';
import type { Config } from '../config/schema.ts';
import { register, unregister } from '../config/registration.ts';
import { agentVariables, secretsOf } from '../config/secrets.ts';
import { withToken } from '../config/token.ts';
import { AppError } from '../errors.ts';
import { EventLog } from '../events/log.ts';
import { Feed } from '../events/feed.ts';
import { EventTally } from '../diagnostics/tally.ts';
import { agentTools } from '../gateway/agent-tools.ts';
import { Gatekeeper } from '../gateway/gatekeeper.ts';
import { processToolkit } from '../gateway/process-tools.ts';
import { teamToolkit } from '../gateway/team-tools.ts';
import { type TeamFacts, ToolGateway } from '../gateway/service.ts';
import { SessionTokens } from '../access/session-tokens.ts';
import { TeamGate } from '../gateway/team-gate.ts';
import type { Figures } from '../diagnostics/metrics.ts';
import { createHttpServer } from '../http/server.ts';
import { hostName } from '../access/admit.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { watchEventLoop } from '../diagnostics/event-loop.ts';
import { type Failpoint, noFailpoints } from '../lib/failpoint.ts';
import { type Ids, newSecret, systemIds } from '../lib/ids.ts';
import { createLog } from '../lib/log.ts';
import { commit, readAsset, version } from '../lib/self.ts';
import { spreadOf } from '../diagnostics/spread.ts';
import { KeptAnswers } from '../store/kept-answers.ts';
import { configuredProviders } from '../providers/configured.ts';
import type { Provider } from '../providers/provider.ts';
import { Notifier } from '../sessions/notifier.ts';
import { ProviderRegistry, wrongWith } from '../providers/registry.ts';
import { recover } from '../recovery/recover.ts';
import { verifySessions } from '../recovery/verify.ts';
import { StorageBudget } from '../retention/budget.ts';
import { Retention } from '../retention/retention.ts';
import { StorageUsage } from '../diagnostics/usage.ts';
import { logPath, prepareLogs, removeLogs } from '../processes/log-file.ts';
import { ExitNotices, NOTICE_TAIL } from '../processes/notices.ts';
import { readPrinted } from '../processes/reading.ts';
import { ProcessRunner } from '../processes/runner.ts';
import { ProcessService } from '../processes/service.ts';
import { ProcessStore } from '../processes/store.ts';
import { AgentPool } from '../sessions/agent-pool.ts';
import { ApprovalDesk } from '../sessions/approval-desk.ts';
import { SessionCounts } from '../diagnostics/counts.ts';
import { Inbox } from '../sessions/inbox.ts';
import { Blobs } from '../sessions/blobs.ts';
import { SessionService } from '../sessions/service.ts';
import { SessionStore } from '../sessions/store.ts';
import { TurnRunner } from '../sessions/turn-runner.ts';
import { Backups } from '../store/backup.ts';
import { Database } from '../store/database.ts';
import type { FileSystem } from '../store/host-files.ts';
import { lockDirectory } from '../store/lock.ts';
import { readEpoch } from '../store/migrate.ts';
import { Dispatcher } from '../teams/dispatcher.ts';
import { Broadcasts } from '../teams/broadcasts.ts';
import { MessageService } from '../teams/messages.ts';
import { TeamService } from '../teams/service.ts';
import { SpawnService } from '../teams/spawn.ts';
import { TeamStore } from '../teams/store.ts';
import { TeamViews } from '../teams/view.ts';
import { TokenService } from '../access/tokens.ts';
import { Claims } from '../worktrees/claims.ts';
import { findGit, Git } from '../worktrees/git.ts';
import { InitScripts } from '../worktrees/init-scripts.ts';
import { WorktreeMender } from '../worktrees/mend.ts';
import { previewWorktree } from '../worktrees/preview.ts';
import { WorktreeService } from '../worktrees/service.ts';
import { WorktreeStore } from '../worktrees/store.ts';
import { Workshop } from '../worktrees/workshop.ts';

/** Deltas of settled items leave the log in steps, this far apart. */
const COMPACT_EVERY_MS = 5000;
/** The log is brought back within its budget this often. */
const RETAIN_EVERY_MS = 10_000;
/** How long agents have after TERM when the server stops. */
const CHILD_GRACE_MS = 2000;

export interface RuntimeOptions {
  config: Config;
  /** The directory of all data; made where it does not exist. */
  directory: string;
  /** Where log lines go. */
  logTo: NodeJS.WritableStream & { isTTY?: boolean };
  clock?: Clock;
  ids?: Ids;
  failpoint?: Failpoint;
  /** The tokens of sessions' agents; their secret is made anew for each run. */
  sessionTokens?: SessionTokens;
  /** Instead of the configured ones: for tests of the rules, with agents of their own. */
  providers?: readonly Provider[];
  /** The file operations of the store: the seam at which tests make disks fill and fail. */
  fs?: FileSystem;
  /** Told once when the store can promise nothing any more. It has to end the process. */
  onFatal: (error: Error) => void;
}

export interface Runtime {
  /** Where it listens. */
  readonly url: string;
  readonly token: string;
  readonly tokenFile: string | null;
  /**
   * Takes over from what `load` gives whatever may change while it runs, and logs what that was. Where `load` throws
   * it says so in the log, and everything stays as it was.
   */
  reload(load: () => Config): void;
  /** Stops in order; resolves when nothing is left. `hurry` skips what can be waited for. */
  stop(hurry?: AbortSignal): Promise<void>;
}

/** What is wrong with the git of this machine; its version where nothing is. */
export { findGit };

/** Builds each long-lived object once, starts them in order, and listens. Throws AppError, with nothing left running. */
export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  const {
    config,
    directory,
    clock = systemClock,
    ids = systemIds,
    failpoint = noFailpoints,
    sessionTokens = new SessionTokens(),
  } = options;
  await using undo = new AsyncDisposableStack();

  const live = usable(directory, () => {
    prepareDirectory(directory);
    return new LiveConfig(withToken(config, directory));
  });
  const logger = createLog({
    level: config.log.level,
    destination: options.logTo,
    pretty: options.logTo.isTTY === true,
    secrets: () => secretsOf(live.now),
  });

  undo.use(usable(directory, () => lockDirectory(directory)));
  const db = await Database.open({
    directory,
    wasm: readAsset('sql-wasm.wasm'),
    durability: config.data.durability,
    clock,
    failpoint,
    onFatal: options.onFatal,
    onWarning: (message, error) => logger.warn({ err: error }, message),
    version,
    newEpoch: () => ids.next('epoch'),
    ...(options.fs ? { fs: options.fs } : {}),
  });
  undo.defer(() => db.close());
  const backups = undo.use(
    new Backups({
      db,
      directory,
      wasm: readAsset('sql-wasm.wasm'),
      newEpoch: () => ids.next('epoch'),
      minFreeBytes: () => live.now.retention.min_free_bytes,
    }),
  );
  const log = new EventLog({ db, clock, ids });
  const feed = new Feed({ db, log });
  const tally = new EventTally(db);
  const sessionStore = new SessionStore({ db, log });

  const logs = prepareLogs(directory);
  const processStore = new ProcessStore({ db, log });
  const inbox = new Inbox({
    db,
    sessionStore,
    clock,
    ids,
    logger,
    start: (turn) => runner.start(turn),
    requestInterrupt: (turn) => runner.requestInterrupt(turn),
    interrupt: (turn) => runner.interrupt(turn),
  });
  const notices = new ExitNotices({ inbox, store: processStore, sessionStore });
  const teamStore = new TeamStore({ db, log });
  const dispatcher = new Dispatcher({ store: teamStore, sessionStore, inbox, clock });

  const marker = newSecret();
  const keeper = new Keeper({ marker, log: logger });
  const ledger = new Ledger({ db, clock, marker });
  const supervisor = new Supervisor({ keeper, ledger, clock, failpoint, log: logger, marker });
  const toolsFor = agentTools({
    gateway: () => gateway,
    tokens: sessionTokens,
    url: () => config.public_base_url ?? url,
    clock,
  });
  const providers = new ProviderRegistry(
    options.providers ?? configuredProviders(config, { supervisor, clock, toolsFor }),
  );

  const worktreeStore = new WorktreeStore({ db, log });
  const claims = new Claims({ store: worktreeStore, sessionStore, clock });
  const endingGit = new AbortController();
  const git = new Git({ marker, signal: endingGit.signal });
  const initScripts = new InitScripts({
    db,
    git,
    sessionStore,
    worktrees: worktreeStore,
    clock,
    script: () => live.now.worktrees.init_script_path,
  });
  const workshop = usable(
    directory,
    () =>
      new Workshop({
        git,
        root: config.worktrees.root_dir ?? path.join(directory, 'worktrees'),
        scratch: path.join(directory, 'scratch'),
        failpoint,
        isTrusted: (repoRoot, sha256) => initScripts.isTrusted(repoRoot, sha256),
      }),
  );

  const recovered = await recover({
    db,
    log,
    sessionStore,
    processes: processStore,
    worktrees: new WorktreeMender({
      store: worktreeStore,
      claims,
      sessionStore,
      workshop,
      clock,
      logger,
    }),
    readPrinted: (id) => readPrinted((stream) => logPath(logs, id, stream), NOTICE_TAIL),
    notices,
    inbox,
    teams: teamStore,
    ledger,
    clock,
    logger,
    durability: config.data.durability,
    canResume: ({ provider }) => providers.find(provider)?.capabilities.resume ?? false,
  });
  keeper.start();
  undo.defer(() => keeper.stop());

  const budget = new StorageBudget({
    db,
    directory,
    logs,
    clock,
    settings: () => live.now.retention,
  });
  const usage = new StorageUsage({
    db,
    directory,
    clock,
    budget,
    settings: () => live.now.retention,
  });
  const retention = new Retention({
    db,
    log,
    store: sessionStore,
    processes: processStore,
    onTrimmed: (seq) => feed.forgetUpTo(seq),
    removeLogs: (id) => removeLogs(logs, id),
    clock,
    budget,
    settings: () => live.now.retention,
  });
  const pool = new AgentPool({
    clock,
    maxLive: () => live.now.providers.max_live,
    idleTimeoutMs: () => live.now.providers.idle_timeout_ms,
    providerOf: (session) => providers.usable(session.provider),
    onGone: (live) => void runner.agentGone(live),
  });
  const notifier = new Notifier({
    supervisor,
    clock,
    logger,
    directory,
    command: () => live.now.approvals.notify_command,
    isPending: ({ id }) => sessionStore.approvals.get(id)?.status === 'pending',
  });
  const desk = new ApprovalDesk({
    db,
    store: sessionStore,
    clock,
    ids,
    logger,
    timeoutMs: () => live.now.approvals.timeout_ms,
    maxPending: () => live.now.approvals.max_pending_per_session,
    notify: (approval) => notifier.tell(approval),
    onExpired: (approval) => void expire(approval),
    onResolved: ({ session_id }) => inbox.atBoundary(session_id),
  });
  const runner = new TurnRunner({
    db,
    log,
    store: sessionStore,
    pool,
    desk,
    inbox,
    clock,
    ids,
    failpoint,
    logger,
    onSessionFailed,
    turnTimeoutMs: () => live.now.sessions.turn_timeout_ms,
  });
  const blobs = new Blobs(path.join(directory, 'blobs'));
  const sessions = new SessionService({
    db,
    store: sessionStore,
    runner,
    pool,
    desk,
    inbox,
    blobs,
    clock,
    ids,
    onClosing: ({ id }) => void claims.releaseAllOf(id),
    agentsOf: (teamId) => teams.agentsOf(teamId),
    onSpokenTo: (session) => messages.spokenTo(session),
    onClosed: ({ id }) => void processes.killAllOf(id, 'session_closed'),
    assertRoom: () => budget.assertRoom(),
    usableProvider: (id) => providers.usable(id),
    objectionOf: (id, settings) => providers.find(id)?.objection?.(settings),
  });
  const processRunner = new ProcessRunner({
    db,
    store: processStore,
    supervisor,
    clock,
    logger,
    directory: logs,
    settings: () => live.now.processes,
    secretVariables,
    notices,
  });
  const processes = new ProcessService({
    db,
    store: processStore,
    sessionStore,
    runner: processRunner,
    clock,
    ids,
    settings: () => live.now.processes,
    assertRoom: () => budget.assertRoom(),
  });
  const worktrees = new WorktreeService({
    db,
    store: worktreeStore,
    claims,
    sessionStore,
    processes: processStore,
    workshop,
    supervisor,
    clock,
    ids,
    failpoint,
    logger,
    settings: () => live.now.worktrees,
    initScripts,
    assertRoom: () => budget.assertRoom(),
    stopping: endingGit.signal,
  });
  const teams = new TeamService({
    db,
    store: teamStore,
    sessionStore,
    sessions,
    worktrees: worktreeStore,
    dispatcher,
    clock,
    ids,
    assertRoom: () => budget.assertRoom(),
  });
  const broadcasts = new Broadcasts({
    db,
    store: teamStore,
    dispatcher,
    clock,
    ids,
    failpoint,
    logger,
  });
  const messages = new MessageService({
    db,
    store: teamStore,
    sessionStore,
    dispatcher,
    broadcasts,
    blobs,
    clock,
    ids,
    maxHops: () => live.now.teams.max_hops,
    takesImages: (id) => {
      const provider = providers.find(id);
      return provider?.capabilities.images === true && !provider.imagesByAgent;
    },
    assertRoom: () => budget.assertRoom(),
  });
  const spawns = new SpawnService({
    db,
    store: teamStore,
    sessionStore,
    sessions,
    messages,
    worktrees,
    worktreeStore,
    claims,
    clock,
    ids,
    failpoint,
    logger,
    presets: () => live.now.teams.model_presets,
    maxSpawned: () => live.now.teams.max_spawned_per_session,
  });
  const views = new TeamViews({
    db,
    store: teamStore,
    sessionStore,
    worktrees: worktreeStore,
    clock,
  });
  const teamwork = { teams, messages, spawns, views };
  const keptAnswers = new KeptAnswers({ db, clock });
  const gatekeeper = new Gatekeeper({ sessions, freed: () => live.now.gateway.free });
  const gate = new TeamGate({
    gatekeeper,
    initScripts,
    previewWorktree: (cwd, worktree_name) =>
      previewWorktree(workshop.git, { directory: cwd, worktree_name }),
  });
  const gateway = new ToolGateway({
    db,
    sessionStore,
    toolkits: [
      processToolkit({ processes, gatekeeper }),
      teamToolkit({ ...teamwork, clock, gatekeeper, gate, settings: () => live.now.teams }),
    ],
    keptAnswers,
    teamFacts: () => teamFacts(live.now),
    logger,
  });
  const tokens = undo.use(
    new TokenService({ db, clock, ids, logger, apiToken: () => live.now.auth.token }),
  );
  const counts = new SessionCounts(db);
  const loop = undo.use(watchEventLoop());
  const startedAt = clock.monotonic();
  const server = createHttpServer({
    access: {
      holderOf: (given) => tokens.holderOf(given),
      sessionOf: (given) => sessionTokens.sessionOf(given),
      allowedHosts: () => allowedHosts(live.now),
      allowedOrigins: () => live.now.server.allowed_origins,
    },
    self: {
      version,
      commit,
      epoch: readEpoch(db),
      openApi: () => Buffer.from(readAsset('openapi.yaml')).toString('utf8'),
      health,
      recovery: () => recovered.summary,
      diagnostics,
      storage: () => usage.diagnostics(),
      figures,
      async backUp(signal) {
        const { file, bytes, seq } = await backups.make(signal);
        return { read: () => file.createReadStream(), bytes, seq };
      },
    },
    log,
    feed,
    streamLimits: () => ({
      all: live.now.server.max_streams,
      ofOneToken: live.now.server.max_streams_per_token,
    }),
    maxConnections: config.server.max_connections,
    requestTimeoutMs: config.server.request_timeout_ms,
    sessions,
    processes,
    worktrees,
    initScripts,
    teams: teamwork,
    providers: {
      list: () => providers.list(),
      diagnostics: () => providers.diagnostics((id) => pool.count(id)),
      models: (id) => providers.models(id),
      authStatus: (id) => providers.authStatus(id),
      login: (id) => providers.login(id),
    },
    tokens,
    gateway,
    keptAnswers,
    clock,
    ids,
    logger,
  });
  undo.defer(() => server.close());
  const compacting = undo.use(clock.every(COMPACT_EVERY_MS, () => void compact()));
  const trimming = new AbortController();
  const retaining = undo.use(clock.every(RETAIN_EVERY_MS, () => void retain()));

  const [host, port] = splitAddress(config.server.bind_address);
  const url = await server.listen(host, port);
  for (const turn of recovered.startTurns) runner.start(turn);
  await inbox.open();
  const undone = spawns
    .undoLeft()
    .catch((error: unknown) => logger.error({ err: error }, 'spawns could not be undone'));
  const takenUp = broadcasts
    .takeUp()
    .catch((error: unknown) => logger.error({ err: error }, 'broadcasts could not be taken up'));
  for (const approval of sessionStore.allPendingApprovals()) desk.watchExpiry(approval);
  const verifying = new AbortController();
  const verified = verifySessions({
    db,
    store: sessionStore,
    pool,
    inbox,
    onSessionFailed,
    clock,
    logger,
    providers: providers.all(),
    summary: recovered.summary,
    signal: verifying.signal,
  }).catch((error: unknown) => logger.error({ err: error }, 'sessions could not be verified'));
  register(directory, { url, version, token_file: live.now.auth.token_file });
  undo.defer(() => unregister(directory));
  logger.info({ url, version, data: directory, seq: feed.latestSeq }, 'ready');

  const started = undo.move();
  let stopping: Promise<void> | undefined;
  return {
    url,
    get token() {
      return live.now.auth.token;
    },
    get tokenFile() {
      return live.now.auth.token_file;
    },
    reload,
    stop: (hurry) => (stopping ??= stop(hurry ?? new AbortController().signal)),
  };

  function reload(load: () => Config): void {
    if (stopping) return;
    try {
      const next = withToken(load(), directory);
      register(directory, { url, version, token_file: next.auth.token_file });
      const { changed, needRestart } = live.reload(next);
      logger.level = live.now.log.level;
      tokens.apiTokenChanged();
      pool.admit();
      processRunner.admit();
      if (needRestart.length > 0)
        logger.warn({ keys: needRestart }, 'some keys that have changed need a restart');
      logger.info({ changed }, 'configuration reloaded');
    } catch (error) {
      logger.error({ err: error }, 'configuration not reloaded: everything stays as it was');
    }
  }

  async function stop(hurry: AbortSignal): Promise<void> {
    logger.info('stopping');
    server.refuseChanges();
    inbox.stop();
    notifier.stop();
    compacting[Symbol.dispose]();
    retaining[Symbol.dispose]();
    trimming.abort();
    verifying.abort();
    await db
      .transact(() => log.append({ kind: 'runtime.stopping', payload: {} }))
      .catch(() => undefined);
    const processesEnded = processRunner.stop();
    await runner.stop(config.server.drain_ms, hurry);
    await processesEnded;
    await endWorktrees(hurry);
    await undone;
    await takenUp;
    await broadcasts.stop();
    await spawns.idle();
    await verified;
    await supervisor.endAll(hurry.aborted ? 0 : CHILD_GRACE_MS);
    await server.close();
    await ledger
      .end()
      .catch((error: unknown) =>
        logger.error({ err: error }, 'the end of the run could not be stored'),
      );
    await started.disposeAsync();
    logger.info('stopped');
  }

  /** What git is at may end within the drain; the next start mends what could not. */
  async function endWorktrees(hurry: AbortSignal): Promise<void> {
    const idle = worktrees.idle().then(() => endingGit.abort());
    const waiting = AbortSignal.any([hurry, endingGit.signal]);
    await clock.sleep(config.server.drain_ms, waiting).catch(() => undefined);
    endingGit.abort();
    await idle;
  }

  function onSessionFailed(id: string): void {
    void processes.killAllOf(id, 'session_failed');
  }

  function secretVariables(): string[] {
    return agentVariables(live.now).map(([name]) => name);
  }

  async function expire(approval: Approval): Promise<void> {
    try {
      await sessions.expire(approval);
    } catch (error) {
      logger.warn({ err: error, approval_id: approval.id }, 'an approval could not expire');
    }
  }

  async function compact(): Promise<void> {
    try {
      while (await log.compact());
      while (await keptAnswers.trim());
    } catch (error) {
      logger.warn({ err: error }, 'settled deltas could not be removed');
    }
  }

  async function retain(): Promise<void> {
    try {
      await retention.run(trimming.signal);
    } catch (error) {
      logger.warn({ err: error }, 'what is too old could not be removed');
    }
  }

  function health(): Health {
    const broken = providers
      .all()
      .filter((provider) => provider.enabled && wrongWith(provider) !== null);
    const status = broken.length > 0 ? 'degraded' : 'ok';
    return {
      status,
      version,
      uptime_ms: Math.round(clock.monotonic() - startedAt),
      checks: { store: { status: 'ok' }, providers: { status } },
    };
  }

  function diagnostics(): Diagnostics {
    const { rss, heapUsed } = process.memoryUsage();
    return {
      health: health(),
      recovery: recovered.summary satisfies RecoverySummary,
      providers: providers.diagnostics((id) => pool.count(id)),
      storage: {
        ...usage.figures(),
        checkpoints: db.stats.checkpoints,
        group_size: spreadOf(db.stats.groupSize),
        sync_us: spreadOf(db.stats.syncMicroseconds),
      },
      streams: feed.stats(),
      processes: processes.diagnostics(),
      worktrees: worktrees.diagnostics(),
      comms: teams.diagnostics(),
      children: {
        live: supervisor.live,
        keeper_pid: keeper.pid,
        out_of_reach: supervisor.outOfReach,
      },
      event_loop: { delay_us: loop.delayMicroseconds() },
      memory: { rss_bytes: rss, heap_used_bytes: heapUsed },
    };
  }

  async function figures(): Promise<Figures> {
    const endings = ['completed', 'interrupted', 'failed'];
    return {
      version,
      commit,
      uptimeMs: clock.monotonic() - startedAt,
      latestSeq: feed.latestSeq,
      eventsByGroup: tally.byGroup(),
      turnsEnded: Object.fromEntries(endings.map((status) => [status, tally.of(`turn.${status}`)])),
      sessions: await counts.byStatus(),
      worktrees: worktrees.diagnostics(),
      pendingApprovals: await counts.pendingApprovals(),
      waitingDeliveries: await teams.waitingCount(),
      agents: Object.fromEntries(providers.all().map(({ id }) => [id, pool.count(id)])),
      children: supervisor.live,
      streams: feed.stats(),
      syncMicroseconds: db.stats.syncMicroseconds,
      groupSize: db.stats.groupSize,
      checkpoints: db.stats.checkpoints,
      walBytes: db.walBytes,
      databaseBytes: usage.figures().database_bytes,
      loopDelayMicroseconds: loop.delayMicroseconds(),
      memory: process.memoryUsage(),
    };
  }
}

/** What the gateway tells of how teams are configured. */
function teamFacts({ teams }: Config): TeamFacts {
  return {
    cadreTeamManagePermissions: {
      non_lead_can_add_members: teams.non_lead_can_add_members,
      non_lead_can_remove_members: teams.non_lead_can_remove_members,
    },
    cadreTeamModelPresets: teams.model_presets,
  };
}

/** Runs what needs files of the data directory. Throws `invalid` where the system refuses. */
function usable<T>(directory: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError || !(error as NodeJS.ErrnoException).syscall) throw error;
    const { message } = error as Error;
    throw new AppError(
      'invalid',
      `the data directory ${directory} cannot be used (${message}): make it a directory of the user who runs the server, or name another with --data-dir`,
      { cause: error },
    );
  }
}

function allowedHosts({ server, public_base_url: base }: Config): string[] {
  const bound = hostName(server.bind_address);
  return [
    ...server.allowed_hosts,
    ...(bound ? [bound] : []),
    ...(base ? [new URL(base).hostname] : []),
  ];
}

function splitAddress(address: string): [host: string, port: number] {
  const at = address.lastIndexOf(':');
  return [address.slice(0, at), Number(address.slice(at + 1))];
}
