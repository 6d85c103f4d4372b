import { spawnSync } from 'node:child_process';

/** Times of the two measurements below on the reference machine, a small virtual machine. */
const REFERENCE = { computingMs: 25, startingMs: 25 };
/** A greater factor means that the measurement was disturbed. */
const MAX_SLOWNESS = 10;

/** Returns the factor by which this machine is slower than the reference machine, without other load. At least 1. */
export function machineSlowness(): number {
  const computing = quickest(computingMs) / REFERENCE.computingMs;
  const starting = quickest(startingMs) / REFERENCE.startingMs;
  return Math.min(MAX_SLOWNESS, Math.max(1, computing, starting));
}

/** Returns the shortest of several times, which is the least disturbed one. */
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
