import { expect, test } from 'vitest';
import type { Session } from '../../../../src/api/sessions.ts';
import {
  assertAcceptsTurn,
  beginTurn,
  endTurn,
  failSession,
  sessionInEvents,
} from '../../../../src/server/conversations/sessions/session.ts';
import {
  withTurnEnd,
  hasEnded,
  startTurn,
  turnInEvents,
} from '../../../../src/server/conversations/sessions/turn.ts';
import { aSession, aTurn, aUsage } from '../../../support/records.ts';

const failure = { code: 'resume_failed', message: 'it is gone' };
const cases: Record<
  string,
  [session: Partial<Session>, expected: string | null | undefined, code: string | null]
> = {
  'A new session accepts a turn': [{}, undefined, null],
  'A session whose turn has ended accepts a turn': [{ last_turn_id: 'turn_1' }, undefined, null],
  'A guard with the most recent turn is accepted': [{ last_turn_id: 'turn_1' }, 'turn_1', null],
  'A guard of null is ignored': [{ last_turn_id: 'turn_1' }, null, null],
  'A busy session refuses a turn': [
    { status: 'running', active_turn_id: 'turn_1', last_turn_id: 'turn_1' },
    undefined,
    'turn_in_progress',
  ],
  'A session that waits for an approval refuses a turn': [
    { status: 'waiting_for_approval', active_turn_id: 'turn_1', last_turn_id: 'turn_1' },
    'turn_1',
    'turn_in_progress',
  ],
  'A closed session refuses a turn': [{ status: 'closed' }, undefined, 'session_closed'],
  'A failed session refuses a turn': [{ status: 'failed', failure }, undefined, 'session_failed'],
  'A guard with another turn is refused': [{ last_turn_id: 'turn_2' }, 'turn_1', 'turn_conflict'],
  'A guard before the first turn is refused': [{}, 'turn_1', 'turn_conflict'],
  'An empty guard is refused': [{}, '', 'turn_conflict'],
  'The guard is checked before a busy session': [
    { status: 'running', active_turn_id: 'turn_2', last_turn_id: 'turn_2' },
    'turn_1',
    'turn_conflict',
  ],
  'The guard is checked before a closed session': [
    { status: 'closed', last_turn_id: 'turn_2' },
    'turn_1',
    'turn_conflict',
  ],
  'The guard is checked before a failed session': [
    { status: 'failed', failure, last_turn_id: 'turn_2' },
    'turn_1',
    'turn_conflict',
  ],
};

test.for(Object.entries(cases))('%s.', ([, [session, expected, code]]) => {
  const check = () => assertAcceptsTurn(aSession(session), expected);
  if (code === null) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ name: 'AppError', code }));
});

test('A refused turn names the session, the turn in the way and what to do.', () => {
  const busy = aSession({ active_turn_id: 'turn_7', last_turn_id: 'turn_7' });
  expect(() => assertAcceptsTurn(busy, undefined)).toThrow(
    'turn turn_7 of session sess_1 is still running: wait until the turn ends',
  );
  expect(() => assertAcceptsTurn(busy, 'turn_6')).toThrow(
    /turn_6.*turn_7.*read the turns of the session, then send the prompt again/,
  );
  const failed = aSession({ status: 'failed', failure });
  expect(() => assertAcceptsTurn(failed, undefined)).toThrow(
    /sess_1.*it is gone.*open a new session/,
  );
});

test('A session runs from the acceptance of a turn to its end.', () => {
  const turn = aTurn();
  const running = beginTurn(aSession(), turn, 5);
  expect(running).toEqual(
    aSession({
      status: 'running',
      active_turn_id: 'turn_1',
      last_turn_id: 'turn_1',
      title: 'hello',
      title_source: 'prompt',
      last_activity_at: 5,
      updated_at: 5,
    }),
  );
  const ended = { ...turn, text: 'all\n done' };
  expect(endTurn(running, ended, 9)).toEqual(
    aSession({
      last_turn_id: 'turn_1',
      title: 'hello',
      title_source: 'prompt',
      last_words: 'all done',
      last_activity_at: 9,
      updated_at: 9,
    }),
  );
});

test('A session does not change with the end of a turn that is not active.', () => {
  const busy = aSession({ status: 'running', active_turn_id: 'turn_2', last_turn_id: 'turn_2' });
  expect(endTurn(busy, aTurn(), 9)).toBe(busy);
});

test('A closed or failed session keeps its status when its turn ends.', () => {
  for (const status of ['closed', 'failed'] as const) {
    const session = aSession({ status, active_turn_id: 'turn_1' });
    expect(endTurn(session, aTurn(), 9)).toMatchObject({ status, active_turn_id: null });
  }
});

test('A session that its provider has lost is failed, with the reason and without an active turn.', () => {
  const failure = { code: 'resume_failed', message: 'gone' };
  const session = aSession({ status: 'running', active_turn_id: 'turn_1' });
  expect(failSession(session, failure, 9)).toEqual(
    aSession({ status: 'failed', failure, updated_at: 9 }),
  );
});

test('A session sums the usage of its turns, and has the context of the newest turn that reported one.', () => {
  const after = (session: Session, usage: ReturnType<typeof aUsage> | null) =>
    endTurn({ ...session, active_turn_id: 'turn_1' }, aTurn({ usage }), 1);
  let session = after(
    aSession(),
    aUsage({ input_tokens: 10, cost_usd: 0.25, context_tokens: 50, context_window: 100 }),
  );
  expect(session.usage).toEqual(
    aUsage({ input_tokens: 10, cost_usd: 0.25, context_tokens: 50, context_window: 100 }),
  );
  session = after(session, aUsage({ input_tokens: 5, output_tokens: 1, context_tokens: 60 }));
  expect(session.usage).toEqual(
    aUsage({
      input_tokens: 15,
      output_tokens: 1,
      cost_usd: 0.25,
      context_tokens: 60,
      context_window: 100,
    }),
  );
  session = after(session, null);
  expect(session.usage).toMatchObject({ input_tokens: 15, context_tokens: 60 });
  session = after(session, aUsage({ context_tokens: 0 }));
  expect(session.usage).toMatchObject({ input_tokens: 15, output_tokens: 1, context_tokens: 0 });
});

test('The events of a session omit its metadata, which never changes and may be large.', () => {
  const { metadata: _, ...rest } = aSession();
  expect(sessionInEvents(aSession())).toEqual(rest);
});

test('A turn has ended if it is completed, interrupted or failed, and only then.', () => {
  const ended = (
    ['accepted', 'running', 'waiting_for_approval', 'completed', 'interrupted', 'failed'] as const
  ).filter((status) => hasEnded(aTurn({ status })));
  expect(ended).toEqual(['completed', 'interrupted', 'failed']);
});

test('A turn has a start and an end time, and keeps its results.', () => {
  const running = startTurn(aTurn(), 5);
  expect(running).toEqual(aTurn({ status: 'running', started_at: 5 }));
  const error = { code: 'provider_error', message: 'no' };
  const usage = aUsage({ input_tokens: 1 });
  expect(withTurnEnd(running, { status: 'failed', error }, { text: 'so far', usage }, 9)).toEqual(
    aTurn({ status: 'failed', started_at: 5, ended_at: 9, error, text: 'so far', usage }),
  );
});

test('The events of a turn omit its input and its text.', () => {
  const { input: _, text: _text, ...rest } = aTurn({ text: 'x' });
  expect(turnInEvents(aTurn({ text: 'x' }))).toEqual(rest);
});
