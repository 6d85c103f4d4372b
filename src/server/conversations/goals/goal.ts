import type { BodyOf } from '../../../api/endpoint.ts';
import { type CheckResult, type Goal, goalLimits, type setGoal } from '../../../api/goals.ts';
import type { Process } from '../../../api/processes.ts';
import type { Turn } from '../../../api/sessions.ts';
import { frame, withoutFrames } from '../../../core/lib/frame.ts';
import { outputLines } from '../../../core/lib/output-lines.ts';
import { shorten } from '../../../core/lib/shorten.ts';

/** The exit codes of a shell for a command that is not executable, or that does not exist. */
const CANNOT_RUN = new Set([126, 127]);
/** The maximum length of a command in a prompt, in UTF-16 code units. */
const COMMAND_CHARACTERS = 1000;

/** The errors of turns that ended although their agent may have done its work: the check shows whether it has. */
const cutOff = new Set(['runtime_stopping', 'runtime_restarted', 'budget_reached']);

export function newGoal(
  request: Pick<Goal, 'goal_id' | 'session_id' | 'created_by'>,
  body: BodyOf<typeof setGoal>,
  now: number,
): Goal {
  const within = body.within_ms ?? null;
  return {
    ...request,
    command: body.command,
    max_rounds: body.max_rounds ?? goalLimits.defaultRounds,
    check_timeout_ms: body.check_timeout_ms ?? goalLimits.defaultCheckMs,
    ends_by: within === null ? null : now + within,
    status: 'waiting',
    reason: null,
    round: 0,
    process_id: null,
    last: null,
    created_at: now,
    updated_at: now,
    ended_at: null,
  };
}

export function isActive({ status }: Goal): boolean {
  return status === 'waiting' || status === 'checking';
}

export function isOverdue({ ends_by }: Goal, now: number): boolean {
  return ends_by !== null && ends_by <= now;
}

/** Returns the goal with a check that is due, and that no process runs yet. */
export function checkingGoal(goal: Goal, now: number): Goal {
  return { ...goal, status: 'checking', process_id: null, updated_at: now };
}

export function endedGoal(goal: Goal, reason: Goal['reason'], now: number): Goal {
  return { ...goal, status: 'ended', reason, updated_at: now, ended_at: now };
}

/** Returns the next step of a goal after a turn. `isFollowed`: the next turn of the session is certain. */
export function afterTurn(
  { status, error }: Turn,
  how: { isRetried: boolean; isLast: boolean; isFollowed: boolean },
): 'check' | 'wait' | 'turn_failed' | 'interrupted' {
  if (status === 'interrupted' && error === null) {
    // A session that is closed ends its goal itself.
    return how.isLast || how.isFollowed ? 'wait' : 'interrupted';
  }
  if (how.isRetried || error?.code === 'usage_limit') return 'wait';
  return status === 'completed' || cutOff.has(error?.code ?? '') ? 'check' : 'turn_failed';
}

/** Returns the goal after a check. `isStuck`: the check failed as the one before, and no file has changed since. */
export function afterCheck(
  goal: Goal,
  process: Process,
  last: CheckResult,
  { isStuck, now }: { isStuck: boolean; now: number },
): Goal {
  const round = goal.round + 1;
  const checked: Goal = { ...goal, status: 'waiting', round, last, updated_at: now };
  if (process.status === 'completed') return { ...checked, status: 'passed', ended_at: now };
  if (cannotRun(process)) return endedGoal(checked, 'cannot_run', now);
  if (isStuck) return endedGoal(checked, 'stuck', now);
  if (round >= goal.max_rounds) return endedGoal(checked, 'rounds', now);
  return isOverdue(goal, now) ? endedGoal(checked, 'time', now) : checked;
}

export function resultOf(
  { process_id, exit_code, signal, status, failure }: Process,
  { stdout, stderr }: { stdout: string; stderr: string },
): CheckResult {
  const why = failure?.code === 'start_failed' ? failure.message : stderr;
  return { process_id, exit_code, signal, timed_out: status === 'timed_out', stdout, stderr: why };
}

export function isSameResult(one: CheckResult | null, other: CheckResult): boolean {
  const fields = ['exit_code', 'signal', 'timed_out', 'stdout', 'stderr'] as const;
  return one !== null && fields.every((field) => one[field] === other[field]);
}

/** Whether the command of a check could not run, which another try would not change. */
export function cannotRun({ failure, exit_code }: Process): boolean {
  return failure?.code === 'start_failed' || CANNOT_RUN.has(exit_code ?? 0);
}

/** Returns the result of a check that could not be started. */
export function refusedCheck(why: string): CheckResult {
  const nothing = { process_id: null, exit_code: null, signal: null, timed_out: false };
  return { ...nothing, stdout: '', stderr: why };
}

/** Returns the prompt after a failed check, with the end of its output as data. */
export function promptAfter({ command, round, max_rounds, check_timeout_ms, last }: Goal): string {
  const lines = [
    `After your last turn, this check failed (${howItEnded(last, check_timeout_ms)}):`,
    commandLine(command),
    'Continue the work until the check passes. It runs again when your turn has ended.',
    ...outputOf(last, 'The check printed nothing.'),
  ];
  return frame('failed_check', { round: `${round} of ${max_rounds}` }, lines.join('\n'));
}

/** Returns a command as a line of a prompt. */
export function commandLine(command: string): string {
  return withoutFrames(shorten(command, COMMAND_CHARACTERS));
}

/** Returns the end of the output of a check as data in a prompt. */
export function outputOf(last: CheckResult | null, ifEmpty: string): string[] {
  const lines = last ? outputLines(last) : [];
  return lines.length > 0 ? lines : [ifEmpty];
}

export function howItEnded(last: CheckResult | null, limitMs: number): string {
  return last?.timed_out === true ? `stopped after ${limitMs / 1000} s` : exitText(last);
}

export function exitText(last: CheckResult | null): string {
  if (last?.exit_code != null) return `exit code ${last.exit_code}`;
  return last?.signal == null ? 'no exit code' : `signal ${last.signal}`;
}
