import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Session, Turn } from '../../../../src/api/sessions.ts';
import { planRecovery } from '../../../../src/server/upkeep/recovery/recover.ts';
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

describe('the rows at a start', () => {
  test('Without unfinished rows, the plan is empty.', () => {
    expect(plan([aSession()], [aTurn({ status: 'completed' })])).toEqual(nothing);
  });

  test('An accepted turn that no agent has seen is started.', () => {
    const turn = aTurn();
    const session = aSession({
      status: 'running',
      active_turn_id: 'turn_1',
      last_turn_id: 'turn_1',
    });
    expect(plan([session], [turn])).toEqual({ ...nothing, startTurns: [turn] });
  });

  test('A running turn of a dead agent fails.', () => {
    const turn = aTurn({ status: 'running', started_at: 2 });
    const session = aSession({ status: 'running', active_turn_id: 'turn_1' });
    expect(plan([session], [turn])).toEqual({ ...nothing, failTurns: [turn] });
  });

  test('A waiting turn without pending approvals is an orphan.', () => {
    const turn = aTurn({ status: 'waiting_for_approval', started_at: 2 });
    const session = aSession({ status: 'waiting_for_approval', active_turn_id: 'turn_1' });
    expect(plan([session], [turn])).toEqual({ ...nothing, orphanTurns: [turn] });
  });

  test.for(['completed', 'interrupted', 'failed'] as const)(
    'A session whose active turn is %s loses the pointer, and becomes ready.',
    (status) => {
      const session = aSession({ status: 'running', active_turn_id: 'turn_1' });
      expect(plan([session], [aTurn({ status })])).toEqual({
        ...nothing,
        clearPointers: [session],
        readySessions: [session],
      });
    },
  );

  test('A session with an active turn that does not exist loses the pointer, and becomes ready.', () => {
    const session = aSession({ status: 'running', active_turn_id: 'turn_none' });
    expect(plan([session], [])).toEqual({
      ...nothing,
      clearPointers: [session],
      readySessions: [session],
    });
  });

  test('A closed or failed session with a stale pointer loses the pointer, and keeps its status.', () => {
    for (const status of ['closed', 'failed'] as const) {
      const session = aSession({ status, active_turn_id: 'turn_1' });
      expect(plan([session], [aTurn({ status: 'completed' })])).toEqual({
        ...nothing,
        clearPointers: [session],
      });
    }
  });

  test('A session at work without an active turn becomes ready.', () => {
    const session = aSession({ status: 'running' });
    expect(plan([session], [])).toEqual({ ...nothing, readySessions: [session] });
  });
});

describe('any rows', () => {
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

  test('Each unfinished turn is in exactly one list, and no ended turn in any.', () => {
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

  test('After the plan, no session points at a missing or ended turn, unless the plan has that turn.', () => {
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

  test('The plan does not change its input, and is the same when it is made again.', () => {
    fc.assert(
      fc.property(sessions, turns, (someSessions, someTurns) => {
        const before = JSON.stringify([someSessions, someTurns]);
        expect(plan(someSessions, someTurns)).toEqual(plan(someSessions, someTurns));
        expect(JSON.stringify([someSessions, someTurns])).toBe(before);
      }),
    );
  });
});
