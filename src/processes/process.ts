import type { Process } from '../api/processes.ts';
import type { ChildExit } from '../children/supervisor.ts';

/** Why a process is ended before it exits by itself; the first cause holds. */
export interface Cause {
  status: 'timed_out' | 'killed';
  reason: string | null;
}

export function hasEnded({ status }: Process): boolean {
  return status !== 'queued' && status !== 'running';
}

export function startProcess(process: Process, pid: number, now: number): Process {
  return { ...process, status: 'running', pid, started_at: now };
}

/** The facts about a process that is over. */
export interface ProcessEnd {
  exit: ChildExit | null;
  cause: Cause | null;
  failure: Process['failure'];
  output: Pick<
    Process,
    'stdout_bytes' | 'stderr_bytes' | 'stdout_truncated' | 'stderr_truncated'
  > | null;
}

/** The process once it has ended: by the cause that came first, else by how it exited. */
export function endProcess(process: Process, end: ProcessEnd, now: number): Process {
  const { exit, cause, failure, output } = end;
  return {
    ...process,
    ...output,
    status: cause?.status ?? (exit?.code === 0 ? 'completed' : 'failed'),
    exit_code: exit?.code ?? null,
    signal: exit?.signal ?? null,
    kill_reason: cause?.reason ?? null,
    failure,
    notice: process.on_exit === 'notify' && process.session_id !== null ? 'pending' : null,
    ended_at: now,
  };
}

/** The process as events after `process.queued` carry it: without its command, which never changes. */
export function processInEvents({ command: _command, ...rest }: Process): Omit<Process, 'command'> {
  return rest;
}
