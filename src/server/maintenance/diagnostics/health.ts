import type { FleetStatus, Health } from '../../../api/runtime.ts';
import { version } from '../../../core/lib/self.ts';
import type { Database } from '../../../core/store/database.ts';
import { type Sources, uptimeMs } from './sources.ts';

/**
 * The health limit for the median of the newest syncs. Every stored change waits for a sync: a sound disk needs a few
 * milliseconds for one, a busy one some hundred; from one second on, clients notice.
 */
const SLOW_SYNC_MS = 1000;
/** A single sync that takes longer degrades health by itself, because until it ends no change receives its response. */
const STUCK_SYNC_MS = 5000;
/** A turn that waits for an agent for longer degrades health. */
const LONG_WAIT_MS = 60_000;

/** The states that a person has to repair before the server is in its fleet. An engine that does not answer may come back by itself. */
const DEGRADING: ReadonlySet<FleetStatus['state']> = new Set([
  'name_taken',
  'diverged',
  'not_mirrored',
]);

type HealthSources = Pick<
  Sources,
  'clock' | 'startedAt' | 'budget' | 'providers' | 'agents' | 'fleet' | 'hooks' | 'sandbox'
> & { db: Pick<Database, 'syncTimes' | 'damage' | 'lacksRoom'> };

/** Returns the server's health, which is `degraded` if one of its checks is, or its fleet keeps it out. */
export function readHealth(sources: HealthSources): Health {
  const store = checkOf(storeProblems(sources));
  const unhealthy = sources.providers.unhealthy();
  const providers = checkOf(unhealthy.map(({ id, detail }) => `${id}: ${detail}`));
  const agents = checkOf([waitOf(sources.agents.waiting)]);
  const hookProblems = sources.hooks.problems();
  const hooks = hookProblems === null ? {} : { hooks: checkOf(hookProblems) };
  const fleet = sources.fleet();
  const sandbox = sources.sandbox.status;
  // A member with a detail works, but has a problem that a person has to look into.
  const isFleetDegraded =
    DEGRADING.has(fleet.state) || (fleet.state === 'member' && fleet.detail !== undefined);
  const isDegraded =
    [store, providers, agents, ...Object.values(hooks)].some(({ status }) => status !== 'ok') ||
    isFleetDegraded ||
    (sandbox.mode === 'require' && sandbox.level === 'none');
  return {
    status: isDegraded ? 'degraded' : 'ok',
    version,
    uptime_ms: Math.round(uptimeMs(sources)),
    fleet,
    sandbox,
    checks: { store, providers, agents, ...hooks },
  };
}

/** Says which turns have waited for an agent for long; null if none have. */
function waitOf(waiting: Sources['agents']['waiting']): string | null {
  const long = waiting.filter(({ waited_ms }) => waited_ms >= LONG_WAIT_MS);
  const [first] = long;
  if (!first) return null;
  const turns = long.length === 1 ? '1 turn is waiting' : `${long.length} turns are waiting`;
  return `${turns} for an agent, the longest (session ${first.session_id}) for ${seconds(first.waited_ms)}: ${first.reason}; close unused sessions, or raise providers.max_live`;
}

function storeProblems({ db, budget }: HealthSources): (string | null)[] {
  const full = 'the last write failed because the disk is full: free some space';
  const shortage = budget.shortage() ?? (db.lacksRoom ? full : null);
  return [shortage, slowness(db.syncTimes), damageOf(db.damage)];
}

/** Says why responses are slow; null if syncs are fast enough. */
function slowness({ medianMs, inFlightMs }: Database['syncTimes']): string | null {
  const way =
    'check what else uses the disk of the data directory, or move the data to another disk';
  if (inFlightMs > STUCK_SYNC_MS)
    return `a disk sync has been running for ${seconds(inFlightMs)}, and nothing can be stored until it ends: ${way}`;
  if (medianMs > SLOW_SYNC_MS)
    return `a disk sync takes ${seconds(medianMs)} (median of the last minute), and each change waits for one: ${way}`;
  return null;
}

function damageOf({ found }: Database['damage']): string | null {
  if (found.length === 0) return null;
  return `corrupt rows were read since the start: ${found.join(', ')}; restore a copy of the data directory`;
}

function checkOf(problems: readonly (string | null)[]): Health['checks']['store'] {
  const detail = problems.filter((problem) => problem !== null).join('; ');
  return detail === '' ? { status: 'ok' } : { status: 'degraded', detail };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
