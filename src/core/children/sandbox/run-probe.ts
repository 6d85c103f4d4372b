import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Clock } from '../../lib/clock.ts';
import { signal } from '../identity.ts';
import { type BarrierCommand, startAtBarrier, startOf } from '../spawn-barrier.ts';
import { probeSandbox, type ProbeOptions, type SandboxLevel } from './probe.ts';
import { ProbeTimeout } from './reasons.ts';

/** The time that a sandbox may take to start, in milliseconds. */
const LIMIT_MS = 10_000;

/** Probes this machine. The supervisor knows nothing of the started sandboxes: each ends with this process. */
export function probeThisMachine(
  options: Omit<ProbeOptions, 'run' | 'clock'>,
  clock: Clock,
): Promise<SandboxLevel> {
  return probeSandbox({ ...options, clock, run: (command) => runToEnd(command, clock) });
}

/** Probes this machine for a command that starts no sandbox. */
export async function probeBriefly(
  options: Omit<ProbeOptions, 'run' | 'directory' | 'clock'>,
  clock: Clock,
): Promise<SandboxLevel> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'cadre-filter-'));
  try {
    return await probeThisMachine({ ...options, directory }, clock);
  } finally {
    await fs.rm(directory, { recursive: true });
  }
}

async function runToEnd(
  command: BarrierCommand,
  clock: Clock,
): Promise<{ stdout: string; stderr: string }> {
  const started = startAtBarrier(startOf(command));
  if (started instanceof Promise) throw await started;
  const { leader, exit } = started;
  let isLate = false;
  using _limit = clock.after(LIMIT_MS, () => {
    isLate = true;
    signal(-leader.pid, 'SIGKILL');
  });
  const printed = Promise.all([started.stdout, started.stderr].map((one) => text(one)));
  started.open();
  await exit.promise;
  // Processes that are left in the group may hold the pipes open.
  signal(-leader.pid, 'SIGKILL');
  const [stdout = '', stderr = ''] = await printed;
  if (isLate) throw new ProbeTimeout(LIMIT_MS);
  return { stdout, stderr };
}
