import os from 'node:os';
import { isLoopbackHost } from '../../core/config/hooks-section.ts';
import { register, unregister } from '../../core/config/registration.ts';
import type { Shim } from '../../core/children/shim/shim.ts';
import type { Config } from '../../core/config/schema.ts';
import { version } from '../../core/lib/self.ts';
import type { Migration } from '../../core/store/migrate.ts';
import { startBackground } from './background.ts';
import { type Base, openBase, type RuntimeOptions } from './base.ts';
import { type Components, buildComponents } from './build.ts';
import { type HttpLayer, buildHttpLayer } from './build/http-layer.ts';
import { connect } from './connect.ts';
import { type Running, stop } from './stop.ts';
import { leaveNote, readNote } from './shim-note.ts';
import { startMaintenance } from './maintenance.ts';
import { Undo } from '../../core/lib/undo.ts';
import { readPrinted } from '../work/processes/reading.ts';
import { takeProcesses } from '../conversations/sessions/attach-turn.ts';
import { type Recovered, recover } from '../maintenance/recovery/recover.ts';
import { withDataDirectory } from '../../core/config/data-directory.ts';
import { withToken } from '../../core/config/token.ts';

/** A server that listens. */
export interface Runtime {
  readonly url: string;
  readonly token: string;
  readonly tokenFile: string | null;
  /** The data of an older version that this start has changed; null where there were none. */
  readonly migration: Migration | null;
  /** The numbers of running turns and processes: a stop waits for the turns and ends the processes. */
  underWay(): { turns: number; processes: number };
  /** Resolves once the store has run a transaction after all earlier ones; rejects if it can store nothing any more. */
  proveStore(): Promise<void>;
  /**
   * Applies the reloadable settings of the configuration that `load` returns, and logs which have changed. If `load`
   * throws, the error is logged, and everything stays as it was.
   */
  reload(load: () => Config): void;
  /** Stops in order; resolves when nothing is left. `hurry` skips the steps that only wait. */
  stop(hurry?: AbortSignal): Promise<void>;
  /** Stops in order, at once, and leaves the running turns to the next server, if `server.reattach_ms` allows that. */
  handOver(): Promise<void>;
}

/** Starts a server, step by step. Throws AppError, with nothing left running. */
export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  await using undo = new Undo();
  const base = await openBase(options, undo);
  const shim = await findShim(base, undo);
  const components = buildComponents(base, options, shim, undo);
  undo.defer(() => components.children.keeper.stop());
  const recovered = await recoverRows(base, components);
  const httpLayer = buildHttpLayer(base, components, recovered.summary, undo);
  connect(base, components);
  const running: Running = {
    base,
    components,
    httpLayer,
    maintenance: null,
    background: null,
    opened: undo.move(),
  };
  try {
    await open(running, recovered, options);
  } catch (error) {
    // Agents, timers and deliveries may run already, and only a stop ends them.
    await stopFailed(running);
    throw error;
  }
  return runtimeOf(running);
}

/** Takes over the processes that the last server left, listens, and then starts the components. */
async function open(
  running: Running,
  { summary, startTurns, survivingTurns, survivingProcesses }: Recovered,
  options: RuntimeOptions,
): Promise<void> {
  const { base, components, httpLayer, opened } = running;
  const { supervisor, sandbox, shim } = components.children;
  // Before any agent acts: the processes that it starts run in the same sandbox.
  await sandbox.restore(shim?.held ?? []);
  for (const turn of takeProcesses(survivingTurns, supervisor))
    components.sessions.runner.attach(turn);
  await components.processes.service.attach(survivingProcesses);
  await supervisor.endUnattached();
  running.maintenance = opened.use(startMaintenance(base, components));
  const last = readNote(shim)?.url ?? null;
  await listen(base, httpLayer, { orFree: options.freePort === true, last });
  base.address.url = httpLayer.server.url;
  leaveNote(shim, { secret: components.gateway.sessionTokens.secret, url: httpLayer.server.url });
  await components.children.networks.connectTools(httpLayer.server.tools);
  for (const turn of startTurns) components.sessions.runner.start(turn);
  await components.sessions.inbox.open();
  components.limitHandoffs.open();
  components.goals.checks.open();
  components.watches.checks.open();
  components.sessions.imports.reader.open();
  await components.sessions.scheduler.open();
  components.searching.resume();
  running.background = startBackground(base, components, summary);
  running.background.spawns
    .then(() => components.races.runner.open())
    .catch((error: unknown) => base.logger.error({ err: error }, 'cannot continue races'));
  components.hooks.open();
  announce(running);
  if (options.onIdle) opened.use(watchIdle({ base, components, httpLayer }, options.onIdle));
  httpLayer.fleet.join({
    agents: components.sessions.pool,
    server: httpLayer.server,
    feed: components.storage.feed,
  });
}

/** Stops a server that could not start. Leaves the turns of the last server to the next one. */
async function stopFailed(running: Running): Promise<void> {
  try {
    await stop(running, { hurry: AbortSignal.abort(), leavesTurns: true });
  } catch (error) {
    running.base.logger.error({ err: error }, 'cannot stop in order after a start that failed');
    await running.opened[Symbol.asyncDispose]();
  }
}

/** Connects to the shim that an earlier server left. Only a server whose agents may outlive it loads the shim. */
async function findShim(
  { directory, config, clock, logger: log }: Base,
  undo: Undo,
): Promise<Shim | null> {
  const graceMs = config.now.server.reattach_ms;
  if (graceMs === 0) return null;
  const { Shim } = await import('../../core/children/shim/shim.ts');
  const shim = new Shim({ directory, graceMs, clock, log });
  // A start that fails leaves the agents for the next one.
  undo.defer(() => shim.leave());
  await shim.find();
  return shim;
}

/** `last`: the address of the last server, which agents that live on use. On any free port, the same port is the best one. */
async function listen(
  { config, logger }: Base,
  { server }: HttpLayer,
  { orFree, last }: { orFree: boolean; last: string | null },
): Promise<void> {
  const address = config.now.server.bind_address;
  const at = address.lastIndexOf(':');
  const port = Number(address.slice(at + 1));
  // Linux lets a server listen there nevertheless.
  if (isLoopbackHost(address.slice(0, at)) && !isLoopbackUp())
    logger.warn(
      'the loopback interface is down, so no client can connect: bring the interface up, for example with ip link set lo up',
    );
  const isAny = port === 0 && last !== null;
  const wanted = isAny ? Number(new URL(last).port) : port;
  await server.listen(address.slice(0, at), wanted, orFree || isAny);
}

function isLoopbackUp(): boolean {
  return Object.values(os.networkInterfaces()).some((addresses) =>
    addresses?.some(({ internal }) => internal),
  );
}

/** Registers the server, so that clients on this machine find it. */
function announce({ base, components: { storage }, httpLayer, opened }: Running): void {
  const { directory, config, logger } = base;
  const { url } = httpLayer.server;
  const { token_file } = config.now.auth;
  withDataDirectory(directory, () => register(directory, { url, version, token_file }));
  opened.defer(() => unregister(directory));
  logger.info({ url, version, data: directory, seq: storage.feed.latestSeq }, 'ready');
}

function runtimeOf(running: Running): Runtime {
  const { config, db } = running.base;
  const { sessions, processes } = running.components;
  let stopping: Promise<void> | undefined;
  return {
    url: running.httpLayer.server.url,
    get token() {
      return config.now.auth.token;
    },
    get tokenFile() {
      return config.now.auth.token_file;
    },
    migration: running.base.db.migration,
    underWay: () => ({
      turns: sessions.runner.active,
      processes: processes.runner.counts.running,
    }),
    proveStore: () => db.transact(() => undefined),
    reload(load) {
      if (!stopping) reload(running, load);
    },
    stop: (hurry = new AbortController().signal) => (stopping ??= stop(running, { hurry })),
    handOver: () => (stopping ??= stop(running, { hurry: AbortSignal.abort(), leavesTurns: true })),
  };
}

/** Repairs the rows that the last run left unfinished, before any component of this run acts. */
function recoverRows(base: Base, components: Components): Promise<Recovered> {
  const { storage, children, providers, sessions, processes, worktrees, teams } = components;
  return recover({
    ...base,
    sessionStore: sessions.store,
    processes: processes.store,
    worktrees: worktrees.worktreeRecovery,
    readPrinted: (id) => readPrinted(storage.logs, id),
    notices: processes.notices,
    inbox: sessions.inbox,
    teams: teams.store,
    ledger: children.ledger,
    shim: children.shim,
    readers: children.shim && sessions.readers,
    durability: base.config.now.data.durability,
    canResume: ({ provider }) => providers.registry.find(provider)?.capabilities.resume ?? false,
  });
}

/** Applies the settings that may change at run time. It never throws: an error is logged, and changes nothing. */
function reload({ base, components, httpLayer }: Running, load: () => Config): void {
  const { directory, config, logger } = base;
  try {
    const next = withToken(load(), directory);
    const { url } = httpLayer.server;
    register(directory, { url, version, token_file: next.auth.token_file });
    const { changed, needRestart } = config.reload(next);
    logger.level = config.now.log.level;
    httpLayer.tokens.apiTokenChanged();
    components.sessions.pool.admit();
    components.processes.runner.admit();
    components.hooks.reload();
    if (needRestart.length > 0)
      logger.warn({ keys: needRestart }, 'some changed keys require a restart');
    logger.info({ changed }, 'configuration reloaded');
  } catch (error) {
    logger.error(
      { err: error },
      'configuration not reloaded: the previous configuration stays in effect',
    );
  }
}

/** The longest time between two checks, in milliseconds. */
const CHECK_MS = 60_000;

/**
 * Calls `onIdle` once the server has had neither work nor a client for `server.stop_after_idle_ms`; never if that is null.
 * Work is what a stop would delay or lose: turns, processes, agents, open approvals, watches, everything that waits to become
 * a turn of an open session, sessions that wait for a time, messages and deliveries to hooks. A member of a fleet is never idle, because other nodes use it.
 */
function watchIdle(
  { base, components, httpLayer }: { base: Base; components: Components; httpLayer: HttpLayer },
  onIdle: () => void,
): Disposable {
  const { clock, config, logger } = base;
  const { feed } = components.storage;
  const limitMs = config.now.server.stop_after_idle_ms;
  if (limitMs === null) return { [Symbol.dispose]: () => undefined };
  let idleSince = clock.monotonic();
  let lastSeq = feed.latestSeq;
  let isChecking = false;
  let isOver = false;
  const timer = clock.every(Math.min(CHECK_MS, Math.ceil(limitMs / 10)), () => {
    if (!isChecking) void check();
  });
  return {
    [Symbol.dispose]() {
      isOver = true;
      timer[Symbol.dispose]();
    },
  };

  async function check(): Promise<void> {
    isChecking = true;
    try {
      const isBusy = (await hasWork()) || feed.latestSeq !== lastSeq;
      const usedAt = isBusy ? clock.monotonic() : await httpLayer.server.lastUsedAt();
      lastSeq = feed.latestSeq;
      idleSince = Math.max(idleSince, usedAt);
      if (isOver || clock.monotonic() - idleSince < (limitMs ?? 0)) return;
      isOver = true;
      timer[Symbol.dispose]();
      logger.info({ idle_ms: limitMs }, 'idle: stopping');
      onIdle();
    } catch (error) {
      logger.warn({ err: error }, 'cannot check whether the server is idle');
    } finally {
      isChecking = false;
    }
  }

  async function hasWork(): Promise<boolean> {
    const { sessions, processes, children, watches, teams, hooks } = components;
    return (
      sessions.runner.active > 0 ||
      children.supervisor.live > 0 ||
      processes.runner.counts.queued > 0 ||
      httpLayer.fleet.status.state !== 'off' ||
      (await watches.isAnyActive()) ||
      (await hooks.list()).some(({ waiting }) => waiting > 0) ||
      (await httpLayer.diagnostics.pendingApprovals()) > 0 ||
      (await httpLayer.diagnostics.isAnyWaiting()) ||
      (await teams.service.waitingCount()) > 0
    );
  }
}
