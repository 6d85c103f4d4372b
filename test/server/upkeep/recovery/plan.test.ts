import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Session, Turn } from '../../../../src/api/sessions.ts';
import { planRecovery } from '../../../../src/server/upkeep/recovery/plan.ts';
import { hasEnded } from '../../../../src/server/conversations/sessions/turn.ts';
import { aSession, aTurn } from '../../../support/records.ts';

function plan(sessions: Session[], turns: Turn[]) {
  return planRecovery({
    unfinishedTurns: turns.filter((turn) => !hasEnded(turn)),
    busySessions: sessions.filter(
      ({ status, active_turn_id }) =>
        active_turn_id !== null || status === 'running' || status === 'waiting_for_approval',
    ),
    turn: (id) => turns.find(({ turn_id }) => turn_id === id),
    approvalsOf: () => [],
    canResume: () => true,
  });
}

const nothing = {
  startTurns: [],
  failTurns: [],
  keepTurns: [],
  orphanTurns: [],
  clearPointers: [],
  readySessions: [],
};

describe('the rows that a start finds', () => {
  test('nothing unfinished: there is nothing to do.', () => {
    expect(plan([aSession()], [aTurn({ status: 'completed' })])).toEqual(nothing);
  });

  test('a turn that was accepted and no agent has seen: it starts.', () => {
    const turn = aTurn();
    const session = aSession({
      status: 'running',
      active_turn_id: 'turn_1',
      last_turn_id: 'turn_1',
    });
    expect(plan([session], [turn])).toEqual({ ...nothing, startTurns: [turn] });
  });

  test('a turn that is running was in the hands of an agent that died: it fails.', () => {
    const turn = aTurn({ status: 'running', started_at: 2 });
    const session = aSession({ status: 'running', active_turn_id: 'turn_1' });
    expect(plan([session], [turn])).toEqual({ ...nothing, failTurns: [turn] });
  });

  test('a turn that waits, and whose approvals are all gone, is an orphan.', () => {
    const turn = aTurn({ status: 'waiting_for_approval', started_at: 2 });
    const session = aSession({ status: 'waiting_for_approval', active_turn_id: 'turn_1' });
    expect(plan([session], [turn])).toEqual({ ...nothing, orphanTurns: [turn] });
  });

  test.for(['completed', 'interrupted', 'failed'] as const)(
    'a session that points at a turn that is %s: its pointer goes, and it is ready.',
    (status) => {
      const session = aSession({ status: 'running', active_turn_id: 'turn_1' });
      expect(plan([session], [aTurn({ status })])).toEqual({
        ...nothing,
        clearPointers: [session],
        readySessions: [session],
      });
    },
  );

  test('a session that points at a turn that is not there: the same.', () => {
    const session = aSession({ status: 'running', active_turn_id: 'turn_none' });
    expect(plan([session], [])).toEqual({
      ...nothing,
      clearPointers: [session],
      readySessions: [session],
    });
  });

  test('a closed or failed session with a stale pointer loses the pointer and keeps its state.', () => {
    for (const status of ['closed', 'failed'] as const) {
      const session = aSession({ status, active_turn_id: 'turn_1' });
      expect(plan([session], [aTurn({ status: 'completed' })])).toEqual({
        ...nothing,
        clearPointers: [session],
      });
    }
  });

  test('a session that says it is at work and points at nothing is ready.', () => {
    const session = aSession({ status: 'running' });
    expect(plan([session], [])).toEqual({ ...nothing, readySessions: [session] });
  });
});

describe('whatever is stored', () => {
  const status = fc.constantFrom<Turn['status']>(
    'accepted',
    'running',
    'waiting_for_approval',
    'completed',
    'interrupted',
    'failed',
  );
  const turns = fc
    .array(status, { maxLength: 8 })
    .map((list) =>
      list.map((one, i) =>
        aTurn({ turn_id: `turn_${i}`, session_id: `sess_${i % 3}`, status: one }),
      ),
    );
  const sessions = fc
    .array(
      fc.tuple(
        fc.constantFrom<Session['status']>(
          'ready',
          'running',
          'waiting_for_approval',
          'closed',
          'failed',
        ),
        fc.option(fc.nat(9)),
      ),
      { maxLength: 5 },
    )
    .map((list) =>
      list.map(([one, at], i) =>
        aSession({
          id: `sess_${i}`,
          status: one,
          active_turn_id: at === null ? null : `turn_${at}`,
        }),
      ),
    );

  test('every unfinished turn is in exactly one list, and no ended one in any.', () => {
    fc.assert(
      fc.property(sessions, turns, (someSessions, someTurns) => {
        const { startTurns, failTurns, orphanTurns } = plan(someSessions, someTurns);
        const planned = [...startTurns, ...failTurns, ...orphanTurns]
          .map(({ turn_id }) => turn_id)
          .toSorted();
        expect(planned).toEqual(
          someTurns
            .filter((turn) => !hasEnded(turn))
            .map(({ turn_id }) => turn_id)
            .toSorted(),
        );
        expect(startTurns.every((turn) => turn.status === 'accepted')).toBe(true);
      }),
    );
  });

  test('afterwards no session points at a turn that is not there or has ended, unless that turn is planned for.', () => {
    fc.assert(
      fc.property(sessions, turns, (someSessions, someTurns) => {
        const { startTurns, failTurns, orphanTurns, clearPointers, readySessions } = plan(
          someSessions,
          someTurns,
        );
        const planned = new Set(
          [...startTurns, ...failTurns, ...orphanTurns].map(({ turn_id }) => turn_id),
        );
        for (const session of someSessions) {
          const cleared = clearPointers.includes(session);
          const { active_turn_id: active, status: is } = session;
          expect(cleared).toBe(active !== null && !planned.has(active));
          if (readySessions.includes(session))
            expect(['running', 'waiting_for_approval']).toContain(is);
          else if (is === 'running' || is === 'waiting_for_approval')
            expect(planned).toContain(active);
        }
      }),
    );
  });

  test('the plan changes nothing of what was found, and is the same when it is made again.', () => {
    fc.assert(
      fc.property(sessions, turns, (someSessions, someTurns) => {
        const before = JSON.stringify([someSessions, someTurns]);
        expect(plan(someSessions, someTurns)).toEqual(plan(someSessions, someTurns));
        expect(JSON.stringify([someSessions, someTurns])).toBe(before);
      }),
    );
  });
});
