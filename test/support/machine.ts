import { spawnSync } from 'node:child_process';

/** Times of the two measurements below on the reference machine, a small virtual machine. */
const REFERENCE = { computingMs: 25, startingMs: 25 };
/** A machine that seems slower than this was disturbed while it was measured. */
const MAX_SLOWNESS = 10;

/** How many times slower than the machine of reference this one is, whatever else runs on it: at least 1. */
export function machineSlowness(): number {
  const computing = quickest(computingMs) / REFERENCE.computingMs;
  const starting = quickest(startingMs) / REFERENCE.startingMs;
  return Math.min(MAX_SLOWNESS, Math.max(1, computing, starting));
}

/** The quickest of a few had the machine for itself. */
function quickest(measured: () => number): number {
  return Math.min(...Array.from({ length: 4 }, measured));
}

/** CPU time of this process, which excludes other programs. */
function computingMs(): number {
  const before = process.cpuUsage();
  const words = Array.from({ length: 20_000 }, (_, at) => `${(at * 7919) % 9973}`);
  JSON.parse(JSON.stringify(words.toSorted()));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function startingMs(): number {
  const before = performance.now();
  spawnSync('/bin/true');
  return performance.now() - before;
}
