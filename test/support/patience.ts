import os from 'node:os';

/**
 * So many files of tests run at once. Most tests wait more than they compute: three leave a fifth of two cores idle. Six
 * took no less time than four, and more of both cores.
 */
export const WORKERS = 4;

/**
 * Factor by which this machine is now slower than the reference machine: the measurement at the start of the run of the
 * machine itself, times the programs that want each of its cores. At least 1. The load average of the system
 * covers the last minute, so each run counts as a run with all workers, even a run of one file.
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
