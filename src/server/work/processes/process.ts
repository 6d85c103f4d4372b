import type { ProcessInEvents } from '../../../api/event-kinds/processes.ts';
import type { Process } from '../../../api/processes.ts';
import type { ChildExit } from '../../../core/children/supervisor.ts';

/** The reason to end a process before it exits by itself. Only the first one counts. */
export interface Cause {
  status: 'timed_out' | 'killed';
  reason: string | null;
}

export function hasEnded({ status }: Process): boolean {
  return status !== 'queued' && status !== 'running';
}

/** The id of the session or of the external caller that owns a process; null if nobody does. */
export function ownerOf({ session_id, caller_id }: Process): string | null {
  return session_id ?? caller_id;
}

/** Returns a process whose end was requested. The first request determines the reason. */
export function requestKill(process: Process, reason: string | null, now: number): Process {
  return process.kill_requested_at
    ? process
    : { ...process, kill_requested_at: now, kill_reason: reason };
}

export function startProcess(process: Process, pid: number, now: number): Process {
  return { ...process, status: 'running', pid, started_at: now };
}

export type OutputTotals = Pick<
  Process,
  'stdout_bytes' | 'stderr_bytes' | 'stdout_truncated' | 'stderr_truncated'
>;

export interface ProcessEnd {
  exit: ChildExit | null;
  cause: Cause | null;
  failure: Process['failure'];
  output: OutputTotals | null;
}

export type EndedProcess = Process & {
  status: Exclude<Process['status'], 'queued' | 'running'>;
};

/** Returns the process as ended, with the status of the cause if there is one, else of its exit. */
export function endProcess(process: Process, end: ProcessEnd, now: number): EndedProcess {
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

/** Returns the process for events after `process.queued`, without its command, which never changes. */
export function processInEvents({ command: _command, ...rest }: Process): ProcessInEvents {
  return rest;
}

/** Returns the failure of a process whose group has processes left that the server may not signal. */
export function notEnded(pids: readonly number[]): Process['failure'] {
  return {
    code: 'not_ended',
    message:
      pids.length === 1
        ? `process ${pids[0]} of the group is running as another user: only that user or root can stop the process`
        : `processes ${pids.join(', ')} of the group are running as another user: only that user or root can stop the processes`,
  };
}
