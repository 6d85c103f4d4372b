import fs from 'node:fs';

/** The middle and the end of a list of times, in ms. */
export interface Spread {
  n: number;
  p50: number;
  p99: number;
  max: number;
}

export function spreadOf(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  const value = (part: number) => Math.round((at(part) ?? Number.NaN) * 10) / 10;
  return { n: sorted.length, p50: value(0.5), p99: value(0.99), max: value(1) };
}

/** The CPU time of a process so far, in seconds, to a hundredth. */
export function cpuOf(pid: number): number {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** The memory of a process, in MiB. */
export function memoryOf(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}

/** Says one line of results. */
export function say(what: string, figures: Record<string, unknown>): void {
  process.stdout.write(`${what}: ${JSON.stringify(figures)}\n`);
}
