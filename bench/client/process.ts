import fs from 'node:fs';

/** The unit of memory in /proc: `getconf PAGESIZE` of Linux on x64. */
const PAGE_BYTES = 4096;
/** The unit of CPU times in /proc, which is fixed for user space. */
const TICKS_A_SECOND = 100;

/** The resident memory of a process and of all its descendants in megabytes, as `ps` shows it. */
export function treeMegabytes(pid: number): number {
  const parents = parentsOfAll();
  const isOfTree = (one: number): boolean =>
    one === pid || (parents.has(one) && isOfTree(parents.get(one) ?? 0));
  const pages = [...parents.keys()].filter(isOfTree).map((one) => fieldsOf(one, 'statm')[1] ?? '0');
  return pages.reduce((sum, count) => sum + Number(count) * PAGE_BYTES, 0) / 1e6;
}

/** The resident memory of a process without its descendants, in megabytes. */
export function ownMegabytes(pid: number): number {
  return (Number(fieldsOf(pid, 'statm')[1] ?? Number.NaN) * PAGE_BYTES) / 1e6;
}

/** The most resident memory that a process had since `forgetPeak`, in megabytes. */
export function peakMegabytes(pid: number): number {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? Number.NaN) * 1024) / 1e6;
}

export function forgetPeak(pid: number): void {
  fs.writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** The CPU time that a process has used, in milliseconds, to the nearest ten. NaN for 0: a process of somebody else. */
export function cpuMilliseconds(pid: number): number {
  if (pid === 0) return Number.NaN;
  // The name of the program, in parentheses, may contain spaces.
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_A_SECOND;
}

/** The CPU time of the bench itself, which takes the place of a server in some baselines, in milliseconds. */
export function ownCpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function parentsOfAll(): Map<number, number> {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parents = new Map<number, number>();
  for (const pid of pids.map(Number)) {
    try {
      const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
      parents.set(pid, Number(stat.split(') ').at(-1)?.split(' ')[1]));
    } catch {
      // It has ended in the meantime.
    }
  }
  return parents;
}

function fieldsOf(pid: number, name: string): string[] {
  try {
    return fs.readFileSync(`/proc/${pid}/${name}`, 'utf8').split(' ');
  } catch {
    return [];
  }
}
