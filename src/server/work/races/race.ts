import type { BodyOf } from '../../../api/endpoint.ts';
import type { Goal } from '../../../api/goals.ts';
import { goalLimits } from '../../../api/goals.ts';
import type { Hold } from '../../../api/queue.ts';
import { type Contender, type Race, raceLimits, type startRace } from '../../../api/races.ts';
import type { Session, Turn } from '../../../api/sessions.ts';
import { conflictError, notFoundError } from '../../../api/errors.ts';
import { exitText, isActive } from '../../conversations/goals/goal.ts';

type Request = BodyOf<typeof startRace>;
type Failure = NonNullable<Contender['failure']>;

/** The rows of a contender that has started. */
export interface ContenderRows {
  session: Session;
  lastTurn: Turn | undefined;
  goal: Goal | undefined;
  holds: readonly Hold[];
  /** Whether an entry of the inbox waits to become the next turn. */
  hasNext: boolean;
}

export const STOPPED: Failure = { code: 'stopped', message: 'the race was stopped' };

export function newRace(
  { contenders, ...body }: Request,
  about: Pick<Race, 'id' | 'cwd' | 'repo_root' | 'base_ref' | 'base_commit' | 'created_by'> & {
    now: number;
  },
): Race {
  const { now, ...fields } = about;
  const name = body.name ?? `race-${about.id.slice(-8)}`;
  const names = namesOf(contenders);
  return {
    ...fields,
    name,
    prompt: body.prompt,
    check: body.check ?? null,
    max_checks: body.max_checks ?? 1,
    check_timeout_ms: body.check_timeout_ms ?? goalLimits.defaultCheckMs,
    sandbox: body.sandbox ?? null,
    status: 'running',
    kept: null,
    contenders: contenders.map((one, at) => newContender(names[at] ?? '', name, one)),
    created_at: now,
    updated_at: now,
    stopped_at: null,
    ended_at: null,
  };
}

function newContender(
  contender: string,
  race: string,
  asked: Request['contenders'][number],
): Contender {
  return {
    contender,
    provider: asked.provider,
    agent: asked.agent ?? null,
    model: asked.model ?? null,
    thinking_effort: asked.thinking_effort ?? null,
    permission_mode: asked.permission_mode ?? null,
    agent_mode: asked.agent_mode ?? null,
    worktree_name: `${race}-${contender}`,
    session_id: null,
    worktree_id: null,
    status: 'starting',
    waits_for: null,
    failure: null,
    checks: 0,
    exit_code: null,
    files_changed: null,
    additions: null,
    deletions: null,
    usage: null,
    started_at: null,
    ended_at: null,
  };
}

/** The maximum length of a contender's name, which a race's name and a hyphen precede in the name of a worktree. */
const NAME_CHARACTERS = 64 - raceLimits.name - 1;

/** Returns a name for each contender that can be a part of the name of a worktree. */
function namesOf(contenders: Request['contenders']): string[] {
  const labels = contenders.map(({ provider, agent, model }) =>
    [agent ?? provider, model ?? []]
      .flat()
      .join('-')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .slice(0, NAME_CHARACTERS - 2),
  );
  const names: string[] = [];
  for (const [at, label] of labels.entries()) {
    const isAlone = labels.every((other, i) => i === at || other !== label);
    let number = 1;
    let name = isAlone ? label : `${label}-${number}`;
    while (names.includes(name)) name = `${label}-${++number}`;
    names.push(name);
  }
  return names;
}

/** Returns a contender by its name. Throws `not_found`. */
export function contenderIn({ name: race, contenders }: Race, name: string): Contender {
  const found = contenders.find(({ contender }) => contender === name);
  if (found) return found;
  const names = contenders.map(({ contender }) => contender).join(', ');
  throw notFoundError(`race "${race}" has no contender "${name}": choose from ${names}`);
}

export function hasEnded({ ended_at }: Contender): boolean {
  return ended_at !== null;
}

export function withContender(race: Race, changed: Contender, now: number): Race {
  const contenders = race.contenders.map((one) =>
    one.contender === changed.contender ? changed : one,
  );
  return { ...race, contenders, updated_at: now };
}

/** Returns a race whose contenders may all have ended, with its end. */
export function withEnd(race: Race, now: number): Race {
  if (!race.contenders.every(hasEnded)) return race;
  const isLost = race.contenders.every(({ status }) => status === 'failed');
  return { ...race, status: isLost ? 'failed' : 'ended', ended_at: now };
}

export function failedContender(contender: Contender, failure: Failure, now: number): Contender {
  return { ...contender, status: 'failed', failure, ended_at: now };
}

/** Returns the contender with its result; null if its session has not ended its work. */
export function endedContender(
  contender: Contender,
  rows: ContenderRows,
  { isStopped, now }: { isStopped: boolean; now: number },
): Contender | null {
  const { session, lastTurn: turn, goal, hasNext } = rows;
  const isOver = session.status === 'closed' || session.status === 'failed';
  if (session.active_turn_id !== null || (!isOver && goal && isActive(goal))) return null;
  const isWon = goal ? goal.status === 'passed' : turn?.status === 'completed';
  if (!goal && !isWon && !isOver && hasNext && !isStopped) return null;
  const current = withProgress(contender, rows);
  const ended_at = goal?.ended_at ?? turn?.ended_at ?? now;
  if (isWon) return { ...current, status: goal ? 'passed' : 'completed', ended_at };
  return failedContender(current, isStopped ? STOPPED : failureOf(rows), ended_at);
}

function failureOf({ session, lastTurn: turn, goal }: ContenderRows): Failure {
  const reason = goal?.reason ?? null;
  if (turn?.error && (reason === null || reason === 'turn_failed')) return turn.error;
  if (session.failure) return session.failure;
  if (goal && (reason === 'rounds' || reason === 'time'))
    return { code: 'check_failed', message: `the check failed (${howItFailed(goal)})` };
  const code = reason ?? (session.status === 'closed' ? 'session_closed' : 'interrupted');
  return { code, message: `the work ended: ${code.replaceAll('_', ' ')}` };
}

function howItFailed({ last }: Goal): string {
  return last?.timed_out === true ? 'time limit' : exitText(last);
}

/** Returns a contender that has started and not ended, as clients see it now. */
export function currentContender(contender: Contender, rows: ContenderRows): Contender {
  const waits_for = reasonToWait(rows);
  const isChecking = rows.goal?.status === 'checking';
  const status = waits_for !== null ? 'waiting' : isChecking ? 'checking' : 'running';
  return { ...withProgress(contender, rows), status, waits_for };
}

function reasonToWait({ session, holds }: ContenderRows): string | null {
  if (session.status === 'waiting_for_approval') return 'the agent requests approval';
  if (session.active_turn_id !== null) return null;
  return holds.find(({ code }) => code !== 'goal')?.message ?? null;
}

function withProgress(contender: Contender, { session, goal }: ContenderRows): Contender {
  const { round: checks = 0, last = null } = goal ?? {};
  return { ...contender, checks, exit_code: last?.exit_code ?? null, usage: session.usage };
}

/** Throws `conflict` if the contender cannot be kept. */
export function assertKeepable({ name, status, kept }: Race, chosen: Contender): void {
  if (kept !== null)
    throw conflictError(`race "${name}" has kept the contender ${kept}: the others are closed`);
  if (status === 'running')
    throw conflictError(`race "${name}" is running: wait until it ends, or stop the race`);
  if (chosen.session_id === null)
    throw conflictError(`the contender ${chosen.contender} has never started: choose another one`);
}
