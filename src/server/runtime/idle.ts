import type { Base } from './base.ts';
import type { Edge, Nouns } from './build.ts';

/** The longest time between two checks, in milliseconds. */
const CHECK_MS = 60_000;

/**
 * Calls `onIdle` once the server has had neither work nor a client for `server.stop_after_idle_ms`; never if that is null.
 * Work is what a stop would delay or lose: turns, processes, agents, open approvals, queue entries, everything that
 * waits to become a turn, sessions that wait for a time, messages and deliveries to hooks. A member of a fleet is never idle, because other nodes use it.
 */
export function watchIdle(
  { base, nouns, edge }: { base: Base; nouns: Nouns; edge: Edge },
  onIdle: () => void,
): Disposable {
  const { clock, config, logger } = base;
  const { feed } = nouns.storage;
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
      const usedAt = isBusy ? clock.monotonic() : await edge.server.lastUsedAt();
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
    const { sessions, processes, children, queue, teams, hooks } = nouns;
    return (
      sessions.runner.active > 0 ||
      children.supervisor.live > 0 ||
      processes.runner.counts.queued > 0 ||
      edge.fleet.status.state !== 'off' ||
      Object.values(queue.diagnostics().entries).some((count) => count > 0) ||
      (await hooks.list()).some(({ waiting }) => waiting > 0) ||
      (await edge.diagnostics.pendingApprovals()) > 0 ||
      (await edge.diagnostics.isAnyWaiting()) ||
      (await teams.service.waitingCount()) > 0
    );
  }
}
