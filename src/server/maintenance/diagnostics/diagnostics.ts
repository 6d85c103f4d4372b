import type { Diagnostics } from '../../../api/runtime.ts';
import { readHealth } from './health.ts';
import type { Sources } from './sources.ts';
import { spreadOf } from './spread.ts';

/** Returns the response of `GET /v1/diagnostics`. */
export function readDiagnostics(sources: Sources): Diagnostics {
  const { db, usage, feed, providers, agents, supervisor, keeper, shim, eventLoop } = sources;
  const { rss, heapUsed } = process.memoryUsage();
  return {
    health: readHealth(sources),
    recovery: sources.recovery,
    providers: providers.diagnostics((id, agent) => agents.count(id, agent)),
    storage: {
      ...usage.figures(),
      checkpoints: db.checkpoints,
      group_size: spreadOf(db.stats.groupSize),
      sync_us: spreadOf(db.stats.syncMicroseconds),
    },
    streams: feed.stats(),
    processes: sources.processes.diagnostics(),
    worktrees: sources.worktrees.diagnostics(),
    comms: sources.teams.diagnostics(),
    queue: sources.queue.diagnostics(),
    agents: { live: agents.count(), max: sources.maxAgents(), waiting: [...agents.waiting] },
    children: {
      live: supervisor.live,
      keeper_pid: keeper.pid,
      shim_pid: shim?.process?.identity.pid ?? null,
      out_of_reach: supervisor.outOfReach,
    },
    event_loop: { delay_us: eventLoop.delayMicroseconds() },
    memory: { rss_bytes: rss, heap_used_bytes: heapUsed },
  };
}
