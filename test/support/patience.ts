import os from 'node:os';

/**
 * So many files of tests run at once. Most tests wait more than they compute: three leave a fifth of two cores idle. Six
 * took no less time than four, and more of both cores.
 */
export const WORKERS = 4;

/**
 * How many times slower than the machine of reference things go here and now: what the start of the run measured of the
 * machine itself, times the programs that want each of its cores. Never less than 1. The load that the system tells of
 * is that of the last minute, so each run, also of one file alone, counts as one that has all of its workers.
 */
export function slowness(): number {
  const machine = Number(process.env.TEST_MACHINE_SLOWNESS ?? 1);
  const [wanting = 0] = os.loadavg();
  return Math.max(1, machine) * Math.max(1, Math.max(WORKERS, wanting) / os.availableParallelism());
}

/** Milliseconds for something to happen that takes at most `ms` on the machine of reference with nothing else to do. */
export function scaled(ms: number): number {
  return Math.ceil(ms * slowness());
}
