import type { Process } from '../../../api/processes.ts';
import type { HeldRecord } from '../../../core/children/shim/frames.ts';
import type { ProcessDependencies } from './dependencies.ts';
import { logPath } from './log-file.ts';
import { type SurvivingOutput, readSurvivingOutput, type StreamName } from './output.ts';

/** A running process that another server has left in the shim. */
export interface SurvivingProcess {
  process: Process;
  /** The offsets of the oldest output that the shim has. */
  oldest: Record<StreamName, number>;
}

/** Returns the description of a process as a child of the server. */
export function descriptionOf({ process_id }: Process): string {
  return `process ${process_id}`;
}

/** Returns the unfinished processes that can be taken over. `held`: the children of the shim. */
export function survivingProcesses(
  unfinished: readonly Process[],
  held: readonly HeldRecord[],
): SurvivingProcess[] {
  return unfinished.flatMap((process) => {
    const what = descriptionOf(process);
    const child = held.find(({ pid, about }) => pid === process.pid && about.what === what);
    return child && process.status === 'running'
      ? [{ process, oldest: { stdout: child.stdout.oldest, stderr: child.stderr.oldest } }]
      : [];
  });
}

/** Reads how far the output of a process is stored, and continues its logs. */
export async function readSurvivingOutputs(
  { process_id }: Process,
  {
    db,
    store,
    settings,
    directory,
  }: Pick<ProcessDependencies, 'db' | 'store' | 'settings' | 'directory'>,
): Promise<Record<StreamName, SurvivingOutput>> {
  const capBytes = settings().max_output_bytes_per_process;
  const read = (stream: StreamName) => {
    const announced = db.peek((rx) => store.announced(rx, process_id, stream));
    return readSurvivingOutput(logPath(directory, process_id, stream), { capBytes, announced });
  };
  return { stdout: await read('stdout'), stderr: await read('stderr') };
}
