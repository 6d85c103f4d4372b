import type { BodyOf } from '../../../api/endpoint.ts';
import type { CheckResult } from '../../../api/goals.ts';
import { type startWatch, type Watch, watchLimits } from '../../../api/watches.ts';
import { frame } from '../../../core/lib/frame.ts';
import { commandLine, howItEnded, outputOf } from '../goals/goal.ts';

/** The number of checks in a row that cannot run, after which a watch ends. */
const MAX_FAILURES = 3;
export const DAY_MS = 86_400_000;
/** The digest of no output: the first output of a watch that was started with `now` differs from it. */
const NO_OUTPUT = '';

export function newWatch(
  request: Pick<Watch, 'watch_id' | 'session_id' | 'created_by'>,
  body: BodyOf<typeof startWatch>,
  now: number,
): Watch {
  return {
    ...request,
    command: body.command,
    every_ms: body.every_ms ?? watchLimits.defaultEveryMs,
    max_turns: body.max_turns ?? watchLimits.defaultTurns,
    check_timeout_ms: watchLimits.checkMs,
    status: 'waiting',
    reason: null,
    next_at: now,
    output_sha256: body.now === true ? NO_OUTPUT : null,
    changes: 0,
    day_started_at: null,
    turns_of_day: 0,
    failures: 0,
    process_id: null,
    last: null,
    created_at: now,
    updated_at: now,
    ended_at: null,
  };
}

export function isActive({ status }: Watch): boolean {
  return status !== 'ended';
}

/** Returns the watch with a check that is due, and that no process runs yet. */
export function checkingWatch(watch: Watch, now: number): Watch {
  return { ...watch, status: 'checking', process_id: null, next_at: null, updated_at: now };
}

/** Returns the watch whose check is postponed, because its session is busy or held. */
export function postponedWatch(watch: Watch, now: number): Watch {
  return { ...watch, status: 'waiting', next_at: now + watch.every_ms, updated_at: now };
}

export function endedWatch(watch: Watch, reason: Watch['reason'], now: number): Watch {
  return { ...watch, status: 'ended', reason, next_at: null, updated_at: now, ended_at: now };
}

/** Returns the watch after a check that could not run. */
export function failedWatch(watch: Watch, last: CheckResult, now: number): Watch {
  const failed = { ...postponedWatch(watch, now), failures: watch.failures + 1, last };
  return failed.failures < MAX_FAILURES ? failed : endedWatch(failed, 'cannot_run', now);
}

/** Returns the watch after a check, and whether its output has changed. The first output counts only with `now`. */
export function afterOutput(
  watch: Watch,
  { sha256, last, now }: { sha256: string; last: CheckResult; now: number },
): { watch: Watch; isChanged: boolean } {
  const checked = { ...postponedWatch(watch, now), failures: 0, output_sha256: sha256 };
  const isChanged = watch.output_sha256 !== null && watch.output_sha256 !== sha256;
  return isChanged
    ? { watch: withTurn({ ...checked, last }, now), isChanged }
    : { watch: checked, isChanged };
}

/** Counts a turn. After the last turn of 24 hours, the next check follows their end, so that no change is lost. */
function withTurn(watch: Watch, now: number): Watch {
  const { day_started_at: begin } = watch;
  // A clock that was set back by less than a day does not begin the count anew.
  const isSameDay = begin !== null && now < begin + DAY_MS && now >= begin - DAY_MS;
  const day_started_at = isSameDay ? watch.day_started_at : now;
  const turns_of_day = isSameDay ? watch.turns_of_day + 1 : 1;
  const isLast = turns_of_day >= watch.max_turns;
  const next_at = isLast ? (day_started_at ?? now) + DAY_MS : watch.next_at;
  return { ...watch, changes: watch.changes + 1, day_started_at, turns_of_day, next_at };
}

/** Returns the prompt about a changed output, with the end of it as data. */
export function promptAbout({ command, check_timeout_ms, changes, last }: Watch): string {
  const lines = [
    `The output of this command has changed (${howItEnded(last, check_timeout_ms)}):`,
    commandLine(command),
    ...outputOf(last, 'The command printed nothing.'),
  ];
  return frame('watched_output', { change: String(changes) }, lines.join('\n'));
}
