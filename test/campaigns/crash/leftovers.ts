import { setTimeout as pause } from 'node:timers/promises';
import { type Identity, identify, isAlive } from '../../../src/core/children/identity.ts';
import { carriersOf } from '../../../src/core/children/procfs.ts';
import { commandOf } from '../../support/processes/command-line.ts';

/** Processes of a server that still run: its keeper, and every process with its directory in the environment. */
export function remaining(directory: string, keeper?: Identity): string[] {
  // A process that is gone between two looks, or is only waiting to be reaped, is not there.
  const pids = carriersOf(directory).filter((pid) => {
    const found = identify(pid);
    return found !== undefined && isAlive(found);
  });
  const left = pids.map((pid) => `${pid} (${commandOf(pid)})`);
  return keeper && isAlive(keeper) ? [...left, `${keeper.pid} (the keeper)`] : left;
}

/** Waits until nothing remains; answers how long that took, and what is still there after `limitMs`. */
export async function untilNothingRemains(
  directory: string,
  limitMs: number,
  keeper?: Identity,
): Promise<{ ms: number; left: string[] }> {
  const started = performance.now();
  for (;;) {
    const left = remaining(directory, keeper);
    const ms = Math.round(performance.now() - started);
    if (left.length === 0 || ms > limitMs) return { ms, left };
    await pause(10);
  }
}
