import type { CheckResult, Goal } from '../../api/goals.ts';
import { cutLine } from '../../core/lib/cut-line.ts';

/** The maximum length of a command in a line, in UTF-16 code units. */
const COMMAND_CHARACTERS = 100;

/** One line on how the last check of a goal ended: `check failed (1 of 5, exit code 1): npm test`. */
export function checkText({ status, round, max_rounds, command, last }: Goal): string {
  const how = status === 'passed' || last === null ? '' : `, ${failureText(last)}`;
  return `check ${status === 'passed' ? 'passed' : 'failed'} (${round} of ${max_rounds}${how}): ${shortCommand(command)}`;
}

export function goalText(goal: Goal): string {
  const { status, reason, round, max_rounds, command } = goal;
  const counted = `${round} of ${max_rounds} checks`;
  if (status === 'passed') return checkText(goal);
  if (status === 'ended')
    return `ended after ${counted}, because ${reasons[reason ?? 'cancelled']}: ${shortCommand(command)}`;
  return `${status === 'checking' ? 'check is running' : 'waiting for the end of a turn'} (${counted}): ${shortCommand(command)}`;
}

/** Why a goal ended that no check has passed. */
export const reasons: Record<NonNullable<Goal['reason']>, string> = {
  rounds: 'the maximum number of checks failed',
  time: 'its time limit has passed',
  stuck: 'two checks failed in the same way, and no file changed between them',
  cannot_run: 'the command cannot run',
  turn_failed: 'a turn failed',
  interrupted: 'a turn was interrupted',
  session_closed: 'the session was closed',
  cancelled: 'the goal was cancelled',
};

function failureText({ exit_code, signal, timed_out }: CheckResult): string {
  if (timed_out) return 'time limit';
  if (exit_code !== null) return `exit code ${exit_code}`;
  return signal === null ? 'not started' : `signal ${signal}`;
}

function shortCommand(command: string): string {
  return cutLine(command, COMMAND_CHARACTERS) ?? '';
}
