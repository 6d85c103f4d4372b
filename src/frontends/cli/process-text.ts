import type { Process } from '../../api/processes.ts';
import { plain } from './output.ts';

/** The status of a process and how it ended, on one line: `failed: exit code 2`. */
export function statusText({ status, exit_code, signal, failure, kill_reason }: Process): string {
  const more = [
    exit_code === null ? null : `exit code ${exit_code}`,
    signal,
    failure && plain(failure.message),
    kill_reason && plain(kill_reason),
  ].filter(Boolean);
  return more.length > 0 ? `${status}: ${more.join(', ')}` : status;
}
