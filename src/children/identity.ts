import fs from 'node:fs';

/** Distinguishes a process from a later one with the same process id. */
export interface Identity {
  pid: number;
  /** The start time in clock ticks since boot. */
  startedTicks: number;
}

/** Returns an id that changes with each boot of the machine. */
export function bootId(): string {
  return readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown';
}

/** Returns the identity of a live process, or undefined if there is none or no /proc. */
export function identify(pid: number): Identity | undefined {
  const stat = readStat(pid);
  return stat && { pid, startedTicks: stat.startedTicks };
}

/** Whether a group has a running member. Zombies, which some machines never reap, do not count. */
export function groupRuns(group: number): boolean {
  return membersOf(group).length > 0;
}

/** Returns the running members of a group, without zombies. */
export function membersOf(group: number): number[] {
  if (signal(-group, 0) === 'gone') return [];
  return fs.readdirSync('/proc').flatMap((name) => {
    const pid = /^\d+$/.test(name) ? Number(name) : undefined;
    const stat = pid === undefined ? undefined : readStat(pid);
    return pid !== undefined && stat?.group === group && !stat.isDead ? [pid] : [];
  });
}

/** Whether exactly that process is alive. A zombie, which only waits to be reaped, is not. */
export function isAlive({ pid, startedTicks }: Identity): boolean {
  const stat = readStat(pid);
  return stat !== undefined && stat.startedTicks === startedTicks && !stat.isDead;
}

/** Returns the processes whose initial environment contains `marker`, without this process. */
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
 * Kills every process that carries `marker`, and scans again until it finds only processes that were signalled before,
 * because a killed process may take a moment to exit. Returns the pids that accepted the signal; those of another user
 * do not.
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
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH') return 'gone';
    if (code === 'EPERM') return 'refused';
    throw error;
  }
}

/** Returns the fields of /proc/PID/stat that are used here. */
function readStat(
  pid: number,
): { isDead: boolean; group: number; startedTicks: number } | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  if (!stat) return undefined;
  // The name, in parentheses, may contain any character; the fields after it are plain. The 22nd is the start time.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state = ''] = fields;
  return {
    isDead: state === 'Z' || state === 'X',
    group: Number(fields[2]),
    startedTicks: Number(fields[19]),
  };
}

/** What a file of /proc is read into: such a file has no size, for which `readFileSync` takes 64 KiB each time. */
const scratch = Buffer.allocUnsafeSlow(4096);

function readProc(path: string): string | undefined {
  let fd: number | undefined;
  try {
    fd = fs.openSync(path, 'r');
    let text = '';
    for (;;) {
      const bytes = fs.readSync(fd, scratch, 0, scratch.length, null);
      if (bytes === 0) return text;
      text += scratch.toString('latin1', 0, bytes);
    }
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}
