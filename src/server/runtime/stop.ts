import type { Background } from './background.ts';
import type { Base } from './base.ts';
import type { Components } from './build.ts';
import type { HttpLayer } from './build/http-layer.ts';
import { AppError } from '../../api/errors.ts';
import type { Undo } from '../../core/lib/undo.ts';

export interface Running {
  base: Base;
  components: Components;
  httpLayer: HttpLayer;
  /** Disposing it ends the periodic work. Null until that begins. */
  maintenance: Disposable | null;
  /** Null until that work begins. */
  background: Background | null;
  /** Disposing it closes and releases everything that the start opened, in reverse order. */
  opened: Undo;
}

/** The grace period of agents after SIGTERM when the server stops, in milliseconds. */
const CHILD_GRACE_MS = 2000;

/**
 * Stops a server, step by step. `hurry` skips the steps that only wait. `leavesTurns`: does not end the turns
 * that another server can continue.
 */
export async function stop(
  running: Running,
  { hurry, leavesTurns = false }: { hurry: AbortSignal; leavesTurns?: boolean },
): Promise<void> {
  const { base, components, httpLayer, opened } = running;
  const { sessions, processes, children } = components;
  base.logger.info('stopping');
  // A server that is killed while it stops has nothing for another one to continue.
  if (!leavesTurns) children.shim?.setGrace(0);
  takeNothingNew(running);
  await storeStopping(base);
  if (leavesTurns) {
    const agents = sessions.runner.leaveTurns();
    children.supervisor.leave(new Set([...agents, ...(await processes.runner.leave())]));
  }
  const hooksEnded = components.hooks.stop();
  const processesEnded = processes.runner.stop();
  await sessions.runner.stop(base.config.now.server.drain_ms, hurry);
  await processesEnded;
  await sessions.imports.reader.stop();
  await components.limitHandoffs.stop();
  await hooksEnded;
  await endWorktrees(base, components, hurry);
  await endBackground(running);
  await children.supervisor.endAll(hurry.aborted ? 0 : CHILD_GRACE_MS);
  await (leavesTurns ? children.shim?.leave() : children.shim?.end());
  await children.networks.closeAll();
  // Behind the last event, so that the fleet has it too.
  await httpLayer.fleet.leave();
  await httpLayer.server.close(leavesTurns);
  await storeEnd(base, components);
  await opened[Symbol.asyncDispose]();
  base.logger.info('stopped');
}

/** From here on nothing starts: no request that changes something, no turn, no notice, no periodic work. */
function takeNothingNew({
  components: { sessions, goals, watches, races },
  httpLayer,
  maintenance,
  background,
}: Running): void {
  httpLayer.server.refuseChanges();
  sessions.scheduler.stop();
  sessions.inbox.stop();
  goals.checks.stop();
  watches.checks.stop();
  races.runner.stop();
  maintenance?.[Symbol.dispose]();
  background?.stopVerification();
}

/** Stores the event of the stop. If the disk accepts no more writes, the stop continues. */
async function storeStopping({ db, log }: Base): Promise<void> {
  await db
    .transact((tx) => log.append(tx, { kind: 'runtime.stopping', payload: {} }))
    .catch(() => undefined);
}

/** Git may finish within the drain; the next start repairs the worktrees of interrupted operations. */
async function endWorktrees(
  { clock, config }: Base,
  { worktrees: { service, stopping }, snapshots }: Components,
  hurry: AbortSignal,
): Promise<void> {
  const end = () =>
    stopping.abort(
      new AppError('shutting_down', 'the server is stopping: try again after the restart'),
    );
  const idle = Promise.all([
    service.idle(),
    snapshots.taker.idle(),
    snapshots.movedBranches.idle(),
  ]).then(end);
  const waiting = AbortSignal.any([hurry, stopping.signal]);
  await clock.sleep(config.now.server.drain_ms, waiting).catch(() => undefined);
  end();
  await idle;
}

/** Waits for the work that the start resumed, and for spawns, races and broadcasts under way. */
async function endBackground({ components: { teams, races }, background }: Running): Promise<void> {
  await background?.cleanups;
  await background?.spawns;
  await background?.broadcasts;
  await background?.sandbox;
  await teams.broadcasts.stop();
  await teams.spawns.idle();
  await races.runner.idle();
  await background?.verification;
}

/** Marks the run as ended in order, so that the next start has nothing to sweep. */
async function storeEnd({ logger }: Base, { children: { ledger } }: Components): Promise<void> {
  await ledger
    .end()
    .catch((error: unknown) => logger.error({ err: error }, 'cannot store the end of the run'));
}
