import { isDeepStrictEqual } from 'node:util';
import type { Turn } from '../../../src/api/sessions.ts';
import type { Acknowledgements } from './acknowledgements.ts';
import type { Observation } from './observe.ts';
import type { Violations } from './checks.ts';
import type { TurnChecker } from './turn-checker.ts';

/**
 * Holds the records of a server that has just recovered against what its earlier runs acknowledged. The log
 * has been followed by `turnChecker`. `atRest`: nothing runs any more, so that records and log have to agree.
 */
export function checkRecovery(
  { recovery, log, sessions, turns }: Observation,
  given: {
    acknowledged: Acknowledgements;
    turnChecker: TurnChecker;
    previousStop: string;
    atRest: boolean;
  },
): Violations {
  const { acknowledged, turnChecker, previousStop, atRest } = given;
  const violations: Violations = [];
  if (recovery.previous_stop !== previousStop) {
    violations.push(
      `recovery says that the last stop was ${recovery.previous_stop}, it was ${previousStop}`,
    );
  }
  const announced = log.findLast(({ kind }) => kind === 'runtime.recovered')?.payload.recovery;
  if (
    announced !== undefined &&
    !isDeepStrictEqual(recoveredBeforeListening(announced), recoveredBeforeListening(recovery))
  ) {
    violations.push(
      'runtime.recovered tells of another recovery than GET /v1/diagnostics/recovery',
    );
  }
  for (const id of recovery.turns_failed) {
    if (turnChecker.endOf(id) !== 'failed')
      violations.push(`recovery failed ${id}, the log does not say so`);
  }
  if (recovery.sessions_failed.length > 0) {
    violations.push(`recovery failed sessions: ${JSON.stringify(recovery.sessions_failed)}`);
  }
  violations.push(...checkSessions(), ...checkTurns(), ...checkUnanswered());
  return violations;

  function checkSessions(): Violations {
    const wrong: Violations = [];
    for (const id of acknowledged.sessions) {
      const session = sessions.get(id);
      if (!session) wrong.push(`session ${id} was acknowledged and is lost`);
      else if (!turnChecker.hasSession(id)) wrong.push(`session ${id} is not in the log`);
      else if (session.status !== 'ready' && (atRest || session.status !== 'running')) {
        wrong.push(`session ${id} is ${session.status}`);
      } else if ((session.status === 'running') !== (session.active_turn_id !== null)) {
        wrong.push(
          `session ${id} is ${session.status} with the active turn ${session.active_turn_id ?? 'null'}`,
        );
      } else if (
        session.active_turn_id !== null &&
        !recovery.turns_reconciled.includes(session.active_turn_id)
      ) {
        wrong.push(`session ${id} is at ${session.active_turn_id}, which recovery did not start`);
      }
    }
    return wrong;
  }

  function checkTurns(): Violations {
    const wrong: Violations = [];
    for (const id of atRest ? acknowledged.turns.keys() : acknowledged.open) {
      const turn = turns.get(id);
      if (!turn) {
        wrong.push(
          `turn ${id} of ${acknowledged.turns.get(id) ?? '?'} was acknowledged and is lost`,
        );
        continue;
      }
      const ended = turnChecker.endOf(id);
      if (ended === undefined) wrong.push(`turn ${id} is not in the log`);
      else if (ended !== null) {
        acknowledged.open.delete(id);
        if (turn.status !== ended)
          wrong.push(`turn ${id} is ${turn.status}, the log says ${ended}`);
        if (!hasAllowedEnd(turn))
          wrong.push(`turn ${id} is ${turn.status}: ${JSON.stringify(turn.error)}`);
      } else if (atRest) wrong.push(`turn ${id} is ${turn.status}, and nothing runs any more`);
      else if (!recovery.turns_reconciled.includes(id)) {
        wrong.push(
          `turn ${id} is ${turn.status}, the log has no end of it, and recovery did not start it`,
        );
      }
    }
    return wrong;
  }

  /** A request without an answer may have worked once, not twice, and nothing came from nowhere. */
  function checkUnanswered(): Violations {
    const wrong: Violations = [];
    const extra = [...turnChecker.sessions].filter((id) => !acknowledged.sessions.has(id));
    if (extra.length > acknowledged.unansweredCreations) {
      wrong.push(
        `${extra.length} sessions that nobody was told of, for ${acknowledged.unansweredCreations} cut off requests`,
      );
    }
    for (const id of acknowledged.sessions) {
      const more = turnChecker.turnsOf(id).filter((turn) => !acknowledged.turns.has(turn));
      const cutOff = acknowledged.unansweredTurns.get(id) ?? 0;
      if (more.length > cutOff) {
        wrong.push(
          `session ${id} has ${more.length} turns that nobody was told of, for ${cutOff} cut off requests`,
        );
      }
    }
    return wrong;
  }
}

/** Possible outcomes of a demo turn if the only fault is the death of the server. */
function hasAllowedEnd({ status, error }: Turn): boolean {
  return status === 'failed'
    ? error?.code === 'runtime_restarted'
    : status === 'completed' && error === null;
}

/** State that is recovered before the server listens. The providers are asked for their sessions later. */
function recoveredBeforeListening(recovery: unknown): object {
  return { ...(recovery as object), status: null, ended_at: null, sessions_failed: null };
}
