import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Approval } from '../../../../src/api/approvals.ts';
import type { Session, Turn } from '../../../../src/api/sessions.ts';
import {
  type UnfinishedWork,
  planRecovery,
} from '../../../../src/server/maintenance/recovery/recover.ts';
import { anApproval, aSession, aTurn } from '../../../support/records.ts';

const NOW = 1000;
const open = ['accepted', 'running', 'waiting_for_approval'] as const;
const ended = ['completed', 'interrupted', 'failed'] as const;

/** An approval of some turn. */
const approvals = fc.record({
  status: fc.constantFrom('pending', 'accepted', 'declined', 'expired', 'cancelled'),
  expires_at: fc.constantFrom(null, NOW - 1, NOW, NOW + 1),
});

/** A turn, its session and its approvals, in any mixture that might be found. */
const cases = fc.record({
  turnStatus: fc.constantFrom(...open, ...ended),
  sessionStatus: fc.constantFrom('ready', 'running', 'waiting_for_approval', 'closed', 'failed'),
  pointsAt: fc.constantFrom('its turn', 'nothing', 'a turn that is not there'),
  interrupted: fc.boolean(),
  canResume: fc.boolean(),
  approvals: fc.array(approvals, { maxLength: 4 }),
});

type Case = typeof cases extends fc.Arbitrary<infer T> ? T : never;

/** All cases at once, as a start finds them. */
function foundOf(all: readonly Case[]): UnfinishedWork {
  const turns = all.map(({ turnStatus, interrupted }, at) =>
    aTurn({
      turn_id: `turn_${at}`,
      session_id: `sess_${at}`,
      status: turnStatus,
      interrupt_requested_at: interrupted ? NOW - 5 : null,
    }),
  );
  const sessions = all.map(({ sessionStatus, pointsAt }, at) =>
    aSession({
      id: `sess_${at}`,
      status: sessionStatus,
      active_turn_id:
        pointsAt === 'nothing' ? null : pointsAt === 'its turn' ? `turn_${at}` : 'turn_gone',
    }),
  );
  const byId = new Map(turns.map((turn) => [turn.turn_id, turn]));
  const indexOf = (turnId: string) => Number(turnId.slice('turn_'.length));
  return {
    unfinishedTurns: turns.filter(({ status }) => isOpen(status)),
    busySessions: sessions.filter(
      ({ active_turn_id: id, status }) => id !== null || status.match(/^(running|waiting)/),
    ),
    turn: (id) => byId.get(id),
    isLeft: () => false,
    isUnprompted: () => false,
    approvalsOf: (turnId): Approval[] =>
      (all[indexOf(turnId)]?.approvals ?? []).map((approval, at) =>
        anApproval({ ...approval, id: `apr_${at}`, turn_id: turnId }),
      ),
    canResume: ({ turn_id }) => all[indexOf(turn_id)]?.canResume ?? false,
  };
}

function isOpen(status: Turn['status']): boolean {
  return (open as readonly string[]).includes(status);
}

it('Each unfinished turn has exactly one outcome in the plan, and no other turn has one.', () => {
  fc.assert(
    fc.property(fc.array(cases, { maxLength: 12 }), (all) => {
      const found = foundOf(all);
      const { startTurns, failTurns, keepTurns, orphanTurns } = planRecovery(found);
      const planned = [...startTurns, ...failTurns, ...keepTurns, ...orphanTurns];
      const ids = (turns: readonly Turn[]) => turns.map(({ turn_id }) => turn_id).toSorted();
      expect(ids(planned)).toEqual(ids(found.unfinishedTurns));
    }),
  );
});

it('The outcome of each turn is the one in the table.', () => {
  fc.assert(
    fc.property(cases, (one) => {
      const found = foundOf([one]);
      if (!isOpen(one.turnStatus)) return;
      const plan = planRecovery(found);
      const outcome = (['startTurns', 'failTurns', 'keepTurns', 'orphanTurns'] as const).find(
        (name) => plan[name].length > 0,
      );
      expect(outcome).toBe(outcomeByTable(one));
    }),
    { numRuns: 500 },
  );
});

it('The plan clears all stale pointers, and no others.', () => {
  fc.assert(
    fc.property(fc.array(cases, { maxLength: 12 }), (all) => {
      const found = foundOf(all);
      const { clearPointers } = planRecovery(found);
      const stale = all.flatMap(({ pointsAt, turnStatus }, at) =>
        pointsAt === 'a turn that is not there' || (pointsAt === 'its turn' && !isOpen(turnStatus))
          ? [`sess_${at}`]
          : [],
      );
      expect(idsOf(clearPointers)).toEqual(stale.toSorted());
    }),
  );
});

it('The plan makes ready each session that is wrongly at work, and no closed or failed one.', () => {
  fc.assert(
    fc.property(fc.array(cases, { maxLength: 12 }), (all) => {
      const { readySessions } = planRecovery(foundOf(all));
      const idle = all.flatMap(({ pointsAt, turnStatus, sessionStatus }, at) =>
        /^(running|waiting)/.test(sessionStatus) && !(pointsAt === 'its turn' && isOpen(turnStatus))
          ? [`sess_${at}`]
          : [],
      );
      expect(idsOf(readySessions)).toEqual(idle.toSorted());
    }),
  );
});

it('The plan does not change its input, and is the same when it is made again.', () => {
  fc.assert(
    fc.property(fc.array(cases, { maxLength: 5 }), (all) => {
      const found = foundOf(all);
      const before = structuredClone([found.unfinishedTurns, found.busySessions]);
      expect(planRecovery(found)).toEqual(planRecovery(found));
      expect([found.unfinishedTurns, found.busySessions]).toEqual(before);
    }),
  );
});

function idsOf(sessions: readonly Session[]): string[] {
  return sessions.map(({ id }) => id).toSorted();
}

/** The outcomes once more, as a table. */
function outcomeByTable({ turnStatus, interrupted, canResume, approvals: all }: Case): string {
  if (interrupted || turnStatus === 'running') return 'failTurns';
  if (turnStatus === 'accepted') return 'startTurns';
  const pending = all.filter(({ status }) => status === 'pending');
  if (!canResume) return 'orphanTurns';
  if (pending.length > 0) return 'keepTurns';
  return all.some(({ status }) => status === 'accepted') ? 'startTurns' : 'orphanTurns';
}
