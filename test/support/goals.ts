import type { Goal } from '../../src/api/goals.ts';
import type { Session } from '../../src/api/sessions.ts';
import type { Refusal, Harness } from './sessions/harness.ts';
import type { UntypedEvent } from './untyped-events.ts';

/** The calls of a test about the goal of one session. */
export function goalOf(harness: Harness, { id }: Pick<Session, 'id'>) {
  const path = `/v1/sessions/${id}/goal`;
  const isOf = (kind: string, matches: (goal: Goal) => boolean) => (event: UntypedEvent) =>
    event.kind === kind && event.session_id === id && matches(event.payload.goal as Goal);
  const until = async (kind: string, matches: (goal: Goal) => boolean = () => true) =>
    (await harness.until(isOf(kind, matches))).payload.goal as Goal;
  return {
    set: (command: string, more: object = {}) =>
      harness.post<Goal & Refusal>(path, { command, ...more }),
    get: () => harness.get<Goal & Refusal>(path),
    cancel: () => harness.del<Goal & Refusal>(path),
    /** Resolves with the goal once a check runs. */
    running: () => until('goal.checking', ({ process_id }) => process_id !== null),
    /** Resolves with the goal once so many checks have ended. */
    checked: (round: number) => until('goal.checked', (goal) => goal.round === round),
    ended: () => until('goal.ended'),
  };
}

/** A command that waits until a file `go` exists, and then passes if a file `done` exists. */
export const WAITS = 'until test -f go; do sleep 0.02; done; test -f done';
