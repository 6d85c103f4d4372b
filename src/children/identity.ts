import fs from 'node:fs';

/** What tells a process from a later one with the same number. */
export interface Identity {
  pid: number;
  /** When it started, in clock ticks since boot. */
  startedTicks: number;
}

/** Changes with each boot of the machine. */
export function bootId(): string {
  return readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown';
}

/** The identity of a live process, or undefined where there is none (or no /proc). */
export function identify(pid: number): Identity | undefined {
  const stat = readStat(pid);
  return stat && { pid, startedTicks: stat.startedTicks };
}

/** Whether a group has a member that still runs. Zombies, which some machines never reap, do not count. */
export function groupRuns(group: number): boolean {
  return membersOf(group).length > 0;
}

/** The members of a group that still run, zombies left out. */
export function membersOf(group: number): number[] {
  if (signal(-group, 0) === 'gone') return [];
  return fs.readdirSync('/proc').flatMap((name) => {
    const pid = /^\d+$/.test(name) ? Number(name) : undefined;
    const stat = pid === undefined ? undefined : readStat(pid);
    return pid !== undefined && stat?.group === group && !stat.isDead ? [pid] : [];
  });
}

/** Whether exactly that process still lives. A zombie, which only waits to be reaped, does not. */
export function isAlive({ pid, startedTicks }: Identity): boolean {
  const stat = readStat(pid);
  return stat !== undefined && stat.startedTicks === startedTicks && !stat.isDead;
}

/** The processes whose environment at their start held `marker`: a census, without ourselves. */
export function carriersOf(marker: string): number[] {
  const found: number[] = [];
  for (const name of fs.readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    if (readProc(`/proc/${pid}/environ`)?.includes(marker)) found.push(pid);
  }
  return found;
}

/**
 * Kills what carries `marker`, until a look around finds nothing that was not signalled already; a killed one may take
 * a moment to go. Gives the pids that took the signal: those of another user do not.
 */
export function killCarriers(marker: string): number[] {
  const seen = new Set<number>();
  const killed: number[] = [];
  for (;;) {
    const fresh = carriersOf(marker).filter((pid) => !seen.has(pid));
    if (fresh.length === 0) return killed;
    for (const pid of fresh) {
      seen.add(pid);
      if (signal(pid, 'SIGKILL') !== 'refused') killed.push(pid);
    }
  }
}

/**
 * What the kernel says to a signal. `sent`: at least one process took it. `gone`: there is none. `refused` (EPERM): it
 * lives, but belongs to another user, as a child does that has changed its user (a setuid program such as sudo).
 */
export type SignalAnswer = 'sent' | 'gone' | 'refused';

/** Signals a process or, with a negative number, a group. 0 only asks. Nothing that the kernel answers is thrown. */
export function signal(pid: number, name: NodeJS.Signals | 0): SignalAnswer {
  try {
    process.kill(pid, name);
    return 'sent';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH') return 'gone';
    if (code === 'EPERM') return 'refused';
    throw error;
  }
}

/** What the kernel says of a process, as far as we use it. */
function readStat(
  pid: number,
): { isDead: boolean; group: number; startedTicks: number } | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  if (!stat) return undefined;
  // The name, in parentheses, may hold anything; the fields after it are plain. The 22nd is the start.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state = ''] = fields;
  return {
    isDead: state === 'Z' || state === 'X',
    group: Number(fields[2]),
    startedTicks: Number(fields[19]),
  };
}

function readProc(path: string): string | undefined {
  try {
    return fs.readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
