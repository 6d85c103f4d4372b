import os from 'node:os';
import { version } from '../src/core/lib/self.ts';
import type { Result } from './report/result.ts';
import { runRounds } from './rounds.ts';
import type { Subject } from './subject.ts';
import type { Form } from './workload.ts';
import { workloads } from './workloads.ts';

/** The named workloads, or all if none is named. Throws if there is none of a name. */
export function namesFrom(given: readonly string[]): string[] {
  const unknown = given.find((name) => !(name in workloads));
  if (unknown !== undefined)
    throw new Error(
      `there is no workload "${unknown}", but these: ${Object.keys(workloads).join(', ')}`,
    );
  return given.length > 0 ? [...given] : Object.keys(workloads);
}

/** Ends the bench on a signal as it ends by itself: nothing that it has started or written is left. */
export function endOnSignals(): void {
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
}

/** Says so where other programs keep the machine from being measured. */
export function warnIfBusy(): void {
  const [load = 0] = os.loadavg();
  if (load > os.availableParallelism() / 2)
    process.stderr.write(
      `the machine is busy (load ${load.toFixed(1)}): the figures will show it\n`,
    );
}

/** Runs a workload by its name, and writes how far it is to stderr. */
export async function resultOf(
  name: string,
  { form, rounds, subjects }: { form: Form; rounds: number; subjects: readonly Subject[] },
): Promise<Result> {
  const workload = workloads[name]?.(form);
  if (!workload) throw new Error(`there is no workload "${name}"`);
  const progress = (line: string) => void process.stderr.write(`${name}: ${line}\n`);
  const { about } = workload;
  const node = process.version;
  const machine = `${os.availableParallelism()} cores, ${os.cpus()[0]?.model ?? 'of an unknown kind'}`;
  const measured = await runRounds(workload, subjects, rounds, progress);
  return { workload: name, about, form, rounds, version, node, machine, ...measured };
}
