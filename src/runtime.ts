import fs from 'node:fs';
import path from 'node:path';
import type { Approval } from './api/approvals.ts';
import type { Diagnostics, Health, RecoverySummary } from './api/runtime.ts';
import { Keeper } from './children/keeper.ts';
import { Ledger } from './children/ledger.ts';
import { Supervisor } from './children/supervisor.ts';
import type { Config } from './config/schema.ts';
import { register, unregister } from './config/registration.ts';
import { loadOrCreateToken } from './config/token.ts';
import { EventLog } from './events/log.ts';
import { Feed } from './events/feed.ts';
import { createHttpServer } from './http/server.ts';
import { hostName } from './http/auth.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { watchEventLoop } from './lib/event-loop.ts';
import { type Failpoint, noFailpoints } from './lib/failpoint.ts';
import { type Ids, newSecret, systemIds } from './lib/ids.ts';
import { createLog } from './lib/log.ts';
import { commit, readAsset, version } from './lib/self.ts';
import { spreadOf } from './lib/spread.ts';
import { KeptAnswers } from './idempotency/kept-answers.ts';
import { agentEnvironment } from './providers/environment.ts';
import { acpProvider } from './providers/acp/provider.ts';
import type { Provider } from './providers/provider.ts';
import { ProviderRegistry } from './providers/registry.ts';
import { recover } from './recovery/recover.ts';
import { verifySessions } from './recovery/verify.ts';
import { AgentPool } from './sessions/agent-pool.ts';
import { ApprovalDesk } from './sessions/approval-desk.ts';
import { Blobs } from './sessions/images.ts';
import { SessionService } from './sessions/service.ts';
import { SessionStore } from './sessions/store.ts';
import { TurnRunner } from './sessions/turn-runner.ts';
import { Database } from './store/database.ts';
import type { FileSystem } from './store/host-files.ts';
import { lockDirectory } from './store/lock.ts';
import { readEpoch } from './store/migrate.ts';

/** Deltas of settled items leave the log in steps, this far apart. */
const COMPACT_EVERY_MS = 5000;
/** How long agents have after TERM when the server stops. */
const CHILD_GRACE_MS = 2000;

const DATA_README = `This directory belongs to cadre. While a server runs, open events.cadre with nothing else,
and never for writing: another program would delete the log under it.
`;

export interface RuntimeOptions {
  config: Config;
  /** The directory of all data; made where it does not exist. */
  directory: string;
  /** Where log lines go. */
  logTo: NodeJS.WritableStream & { isTTY?: boolean };
  clock?: Clock;
  ids?: Ids;
  failpoint?: Failpoint;
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
  /** Stops in order; resolves when nothing is left. `hurry` skips what can be waited for. */
  stop(hurry?: AbortSignal): Promise<void>;
}

/** Builds each long-lived object once, starts them in order, and listens. Throws AppError, with nothing left running. */
export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  const {
    config,
    directory,
    clock = systemClock,
    ids = systemIds,
    failpoint = noFailpoints,
  } = options;
  await using undo = new AsyncDisposableStack();

  prepareDirectory(directory);
  const tokenFile =
    config.auth.token === null
      ? (config.auth.token_file ?? path.join(directory, 'auth', 'token'))
      : null;
  const token = loadOrCreateToken({ token: config.auth.token, tokenFile: tokenFile ?? '' });
  const logger = createLog({
    level: config.log.level,
    destination: options.logTo,
    pretty: options.logTo.isTTY === true,
    secrets: () => [
      token,
      ...Object.entries(config.providers.acp?.env ?? {})
        .filter(isSecret)
        .map(([, value]) => value),
    ],
  });

  undo.use(lockDirectory(directory));
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
  const log = new EventLog({ db, clock, ids });
  const feed = new Feed({ db, log });
  const sessionStore = new SessionStore({ db, log });

  const marker = newSecret();
  const keeper = new Keeper({ marker, log: logger });
  const ledger = new Ledger({ db, clock, marker });
  const supervisor = new Supervisor({ keeper, ledger, clock, failpoint, log: logger, marker });
  const providers = new ProviderRegistry(options.providers ?? configuredProviders());

  const recovered = await recover({
    db,
    log,
    sessions: sessionStore,
    ledger,
    clock,
    logger,
    durability: config.data.durability,
    canResume: ({ provider }) =>
      providers.all().find(({ id }) => id === provider)?.capabilities.resume ?? false,
  });
  keeper.start();
  undo.defer(() => keeper.stop());

  const pool = new AgentPool({
    clock,
    maxLive: config.providers.max_live,
    idleTimeoutMs: config.providers.idle_timeout_ms,
    providerOf: (session) => providers.usable(session.provider),
    onGone: (live) => void runner.agentGone(live),
  });
  const desk = new ApprovalDesk({
    db,
    store: sessionStore,
    clock,
    ids,
    logger,
    timeoutMs: () => config.approvals.timeout_ms,
    notify: (approval) => void notifyPeople(approval),
    onExpired: (approval) => void expire(approval),
  });
  const runner = new TurnRunner({
    db,
    log,
    store: sessionStore,
    pool,
    desk,
    clock,
    ids,
    failpoint,
    logger,
    turnTimeoutMs: config.sessions.turn_timeout_ms,
  });
  const sessions = new SessionService({
    db,
    store: sessionStore,
    runner,
    pool,
    desk,
    blobs: new Blobs(path.join(directory, 'blobs')),
    clock,
    ids,
    usableProvider: (id) => providers.usable(id),
  });
  const keptAnswers = new KeptAnswers({ db, clock });
  const loop = undo.use(watchEventLoop());
  const startedAt = clock.monotonic();
  const server = createHttpServer({
    access: {
      token: () => token,
      allowedHosts: allowedHosts(config),
      allowedOrigins: config.server.allowed_origins,
    },
    self: {
      version,
      commit,
      epoch: readEpoch(db),
      openApi: () => Buffer.from(readAsset('openapi.yaml')).toString('utf8'),
      health,
      recovery: () => recovered.summary,
      diagnostics,
    },
    log,
    feed,
    sessions,
    providers: {
      list: () => providers.list(),
      diagnostics: () => providers.diagnostics((id) => pool.count(id)),
      models: (id) => providers.usable(id).models(),
      authStatus: (id) => providers.get(id).authStatus(),
    },
    keptAnswers,
    clock,
    ids,
    logger,
  });
  undo.defer(() => server.close());
  const compacting = undo.use(clock.every(COMPACT_EVERY_MS, () => void compact()));

  const [host, port] = splitAddress(config.server.bind_address);
  const url = await server.listen(host, port);
  for (const turn of recovered.startTurns) runner.start(turn);
  for (const approval of sessionStore.allPendingApprovals()) desk.watchExpiry(approval);
  const verifying = new AbortController();
  const verified = verifySessions({
    db,
    store: sessionStore,
    pool,
    clock,
    logger,
    providers: providers.all(),
    summary: recovered.summary,
    signal: verifying.signal,
  }).catch((error: unknown) => logger.error({ err: error }, 'sessions could not be verified'));
  register(directory, { url, pid: process.pid, version, token_file: tokenFile });
  undo.defer(() => unregister(directory));
  logger.info({ url, version, data: directory, seq: feed.latestSeq }, 'ready');

  const started = undo.move();
  let stopping: Promise<void> | undefined;
  return {
    url,
    token,
    tokenFile,
    stop: (hurry) => (stopping ??= stop(hurry ?? new AbortController().signal)),
  };

  async function stop(hurry: AbortSignal): Promise<void> {
    logger.info('stopping');
    server.refuseChanges();
    compacting[Symbol.dispose]();
    verifying.abort();
    await db
      .transact(() => log.append({ kind: 'runtime.stopping', payload: {} }))
      .catch(() => undefined);
    await runner.stop(config.server.drain_ms, hurry);
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

  /** `[approvals] notify_command`: the approval as JSON on its stdin, nothing of it in its arguments. */
  async function notifyPeople(approval: Approval): Promise<void> {
    const command = config.approvals.notify_command;
    if (command === null) return;
    try {
      const env = agentEnvironment(process.env, {});
      const child = await supervisor.start({
        command: '/bin/sh',
        args: ['-c', command],
        cwd: directory,
        env,
        what: 'notify_command',
      });
      child.stdout.resume();
      child.stderr.resume();
      child.stdin.end(`${JSON.stringify(approval)}\n`);
      const { code, signal } = await child.exited;
      if (code !== 0)
        logger.warn({ code, signal, approval_id: approval.id }, 'notify_command failed');
    } catch (error) {
      logger.warn({ err: error, approval_id: approval.id }, 'notify_command could not be started');
    }
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

  function configuredProviders(): Provider[] {
    const { acp } = config.providers;
    return [
      acpProvider({
        settings: {
          enabled: acp?.enabled ?? false,
          command: acp?.command ?? null,
          args: acp?.args ?? [],
          env: acp?.env ?? {},
          transport: acp?.transport ?? 'stdio',
          requestTimeoutMs: acp?.request_timeout_ms ?? 0,
        },
        supervisor,
        clock,
      }),
    ];
  }

  function health(): Health {
    const broken = providers
      .all()
      .filter((provider) => provider.enabled && provider.problem() !== null);
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
        latest_seq: feed.latestSeq,
        wal_bytes: db.walBytes,
        checkpoints: db.stats.checkpoints,
        group_size: spreadOf(db.stats.groupSize),
        sync_us: spreadOf(db.stats.syncMicroseconds),
      },
      streams: feed.stats(),
      children: { live: supervisor.live, keeper_pid: keeper.pid },
      event_loop: { delay_us: loop.delayMicroseconds() },
      memory: { rss_bytes: rss, heap_used_bytes: heapUsed },
    };
  }
}

function prepareDirectory(directory: string): void {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  // It may have been there before, open to others.
  fs.chmodSync(directory, 0o700);
  const readme = path.join(directory, 'README');
  if (!fs.existsSync(readme)) fs.writeFileSync(readme, DATA_README, { mode: 0o600 });
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

/** Variables whose values must not stand in a log. */
function isSecret([name]: [string, string]): boolean {
  return /KEY|TOKEN|SECRET|PASSWORD/i.test(name);
}
