import type { Clock } from '../lib/clock.ts';
import { processTable } from './this-machine.ts';
import { codeOf } from '../lib/system-error.ts';

/** The variable that every child carries; its value is unique to the run, so that the run's processes can be found. */
export const MARKER_VARIABLE = 'CADRE_RUN';

/** Distinguishes a process from a later one with the same process id. */
export interface Identity {
  pid: number;
  /** The start time: on Linux in clock ticks since boot, on other systems in seconds since 1970. */
  startedTicks: number;
}

export function bootId(): string {
  return processTable.bootId();
}

/** Returns the identity of a process, or undefined if there is none or the system does not say. */
export function identify(pid: number): Identity | undefined {
  const found = processTable.find(pid);
  return found && { pid, startedTicks: found.started };
}

/** Whether this process belongs to the job that has its terminal: the system stops any other that reads from it. */
export function isInForeground(): boolean {
  return processTable.isInForeground();
}

/** Whether a group has a running member. Zombies, which some machines never reap, do not count. */
export async function groupRuns(group: number): Promise<boolean> {
  return (await membersOf(group)).length > 0;
}

/** Resolves with the running members of a group, without zombies. */
export async function membersOf(group: number): Promise<number[]> {
  return signal(-group, 0) === 'gone' ? [] : processTable.membersOf(group);
}

/** Whether exactly that process is alive. A zombie, which only waits to be reaped, is not. */
export function isAlive({ pid, startedTicks }: Identity): boolean {
  if (signal(pid, 0) === 'gone') return false;
  const found = processTable.find(pid);
  return found !== undefined && found.started === startedTicks && !found.isDead;
}

/** The time between two looks at processes that end, in milliseconds. */
const LOOK_MS = 5;

/** Waits until processes that were killed or exit are gone, for at most `limitMs`. */
export async function untilGone(
  processes: readonly Identity[],
  limitMs: number,
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
): Promise<void> {
  const deadline = clock.monotonic() + limitMs;
  while (processes.some(isAlive) && clock.monotonic() < deadline) await clock.sleep(LOOK_MS);
}

/**
 * Kills every process that carries `marker`, and scans again until it finds only processes that were signalled before,
 * because a killed process may take a moment to exit. Where a system hides environments, the descendants of members of
 * `groups` count as well. Resolves with the pids that accepted the signal; processes of another user do not.
 */
export async function killCarriers(
  marker: string,
  groups: readonly number[] = [],
): Promise<number[]> {
  const seen = new Set<number>();
  const killed: number[] = [];
  for (;;) {
    const carriers = await processTable.carriersOf(marker, groups);
    const fresh = carriers.filter((pid) => !seen.has(pid));
    if (fresh.length === 0) return killed;
    for (const pid of fresh) {
      seen.add(pid);
      if (signal(pid, 'SIGKILL') !== 'refused') killed.push(pid);
    }
  }
}

/**
 * The kernel's response to a signal. `sent`: at least one process accepted it. `gone`: there is no such process.
 * `refused` (EPERM): the process is alive but belongs to another user, like a child that has changed its user (a setuid
 * program such as sudo).
 */
export type SignalAnswer = 'sent' | 'gone' | 'refused';

/** Signals a process or, with a negative number, a group; signal 0 only checks that it exists. Throws nothing. */
export function signal(pid: number, name: NodeJS.Signals | 0): SignalAnswer {
  try {
    process.kill(pid, name);
    return 'sent';
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ESRCH') return 'gone';
    if (code === 'EPERM') return 'refused';
    throw error;
  }
}

/** Whether a process accepts this user's signals. */
export function isReachable(pid: number): boolean {
  return signal(pid, 0) !== 'refused';
}

/**
 * Signals the members of a sandboxed group, except bubblewrap itself: its end would kill the command at once. Bubblewrap is
 * the leader of the group, and the child of the leader that is the first process of the new namespace. Resolves with whether
 * there was a member to signal.
 */
export async function signalInside(leader: number, name: NodeJS.Signals): Promise<boolean> {
  const members = await membersOf(leader);
  const inside = members.filter(
    (pid) => pid !== leader && processTable.find(pid)?.parent !== leader,
  );
  for (const pid of inside) signal(pid, name);
  return inside.length > 0;
}
