import { anEvent } from '../../support/event-record.ts';
import { expect, it } from 'vitest';
import type { RecoverySummary } from '../../../src/api/runtime.ts';
import type { Session, Turn } from '../../../src/api/sessions.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { checkRecovery } from './check-recovery.ts';
import { checkEqual, checkOrder, Seen } from './checks.ts';
import { TurnChecker } from './turn-checker.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';

const SESSION = 'sess_1';
const TURN = 'turn_1';
const ITEM = 'item_1';

/** One turn that says "one two three", as the log has it. */
function log(): UntypedEvent[] {
  const turn = { input: [{ type: 'text', text: 'say one two three' }] };
  return [
    event(1, 'session.created', { turn_id: null }),
    event(2, 'turn.accepted', { payload: { turn } }),
    event(3, 'turn.started'),
    event(4, 'message.delta', { payload: { item_id: ITEM, offset: 0, text: 'one ' } }),
    event(6, 'message.delta', { payload: { item_id: ITEM, offset: 4, text: 'two ' } }),
    event(7, 'message.completed', {
      payload: { item_id: ITEM, offset: 0, status: 'completed', text: 'one two three' },
    }),
    event(8, 'turn.completed'),
  ];
}

function event(seq: number, kind: string, more: Partial<UntypedEvent> = {}): UntypedEvent {
  const own = { scope: 'session', session_id: SESSION, turn_id: TURN } as const;
  return anEvent({ seq, id: `evt_${seq}`, kind, ...own, ...more });
}

/** A copy with a change; `at` is an index. */
function changed(at: number, change: Partial<UntypedEvent>): UntypedEvent[] {
  return log().map((event, i) => (i === at ? { ...event, ...change } : event));
}

it('Read events equal the log with or without the deltas of a closed message.', () => {
  expect(checkEqual('reader', log(), log())).toEqual([]);
  const compacted = log().filter(({ kind }) => kind !== 'message.delta');
  expect(checkEqual('reader', log(), compacted)).toEqual([]);
  expect(checkEqual('reader', compacted, log())).toEqual([]);
});

it('A lost event is reported.', () => {
  const lossy = log().filter(({ seq }) => seq !== 3);
  expect(checkEqual('reader', lossy, log())).toEqual([
    'reader: was never shown seq 3 turn.started (evt_3, turn_1)',
  ]);
});

it('An event that is not in the log is reported.', () => {
  expect(checkEqual('reader', log(), log().slice(0, -1))).toEqual([
    'reader: was shown seq 8 turn.completed (evt_8, turn_1), the log has not',
  ]);
});

it('An event with another payload than in the log is reported.', () => {
  expect(checkEqual('reader', changed(6, { payload: { other: true } }), log())).toHaveLength(1);
});

it('A lost delta of an open message is reported.', () => {
  const open = log().slice(0, 5);
  expect(checkEqual('reader', open.slice(0, 4), open)).toHaveLength(1);
});

it('A repeated seq and two exchanged events are reported as out of order.', () => {
  const [first, second, ...rest] = log() as [UntypedEvent, UntypedEvent];
  expect(checkOrder('reader', log())).toEqual([]);
  expect(checkOrder('reader', [first, second, second, ...rest])).toHaveLength(1);
  expect(checkOrder('reader', [second, first, ...rest])).toHaveLength(1);
});

it('The checks accept an event that another reader receives again.', () => {
  const seen = seenAll();
  expect(log().flatMap((event) => seen.note('another', event))).toEqual([]);
});

it('The checks report a seq that is used a second time.', () => {
  expect(seenAll().note('reader', event(8, 'turn.failed', { id: 'evt_other' }))).toHaveLength(1);
});

it('The checks report an event that returns with another seq.', () => {
  expect(seenAll().note('reader', event(9, 'turn.completed', { id: 'evt_8' }))).toHaveLength(1);
});

it('The checks report an event that is missing from the log, unless it is a delta of a closed message.', () => {
  const seen = seenAll();
  expect(seen.missingFrom(log())).toEqual([]);
  expect(seen.missingFrom(log().filter(({ kind }) => kind !== 'message.delta'))).toEqual([]);
  expect(seen.missingFrom(log().filter(({ seq }) => seq !== 2))).toHaveLength(1);
  const unclosed = log().filter(
    ({ kind }) => kind !== 'message.delta' && kind !== 'message.completed',
  );
  expect(seen.missingFrom(unclosed)).toHaveLength(3);
});

it('The checks report an event that the log has changed.', () => {
  expect(seenAll().missingFrom(changed(1, { created_at: 2 }))).toHaveLength(1);
});

function seenAll(): Seen {
  const seen = new Seen();
  for (const event of log()) expect(seen.note('reader', event)).toEqual([]);
  return seen;
}

it('A correct log of a turn has no findings.', () => {
  expect(follow(log())).toEqual([]);
});

it.each([
  ['no acceptance', log().toSpliced(1, 1)],
  ['a second acceptance', log().toSpliced(2, 0, ...log().slice(1, 2))],
  ['a second start', log().toSpliced(3, 0, event(3, 'turn.started'))],
  ['no start', log().toSpliced(2, 1)],
  ['a second end', [...log(), event(9, 'turn.failed')]],
  [
    'output after the end',
    [...log(), event(9, 'message.delta', { payload: { item_id: 'item_2', offset: 0, text: 'x' } })],
  ],
  ['a message left open', log().toSpliced(5, 1)],
  ['a hole in the text', log().toSpliced(3, 1)],
  [
    'a text that is not what its deltas said',
    changed(5, { payload: { item_id: ITEM, text: 'one three' } }),
  ],
  ['words missing at the end', changed(5, { payload: { item_id: ITEM, text: 'one two ' } })],
  ['another thing said', log().toSpliced(3, 3)],
  ['a message without deltas', log().toSpliced(3, 2)],
])('A log of a turn with %s has a finding.', (_what, events) => {
  expect(follow(events)).not.toEqual([]);
});

it('A log that is followed late may lack the deltas of a closed message.', () => {
  const late = log().filter(({ kind }) => kind !== 'message.delta');
  expect(follow(late, { mayLackDeltas: true })).toEqual([]);
  expect(follow(late)).not.toEqual([]);
});

it('A failed turn may have completed only the beginning of its text.', () => {
  const cut = changed(5, { payload: { item_id: ITEM, text: 'one two ' } }).toSpliced(
    6,
    1,
    event(8, 'turn.failed'),
  );
  expect(follow(cut)).toEqual([]);
  const wrong = changed(5, { payload: { item_id: ITEM, text: 'one two two' } }).toSpliced(
    6,
    1,
    event(8, 'turn.failed'),
  );
  expect(follow(wrong)).not.toEqual([]);
});

it('A failed turn must keep all text that its deltas have shown.', () => {
  const lost = changed(5, { payload: { item_id: ITEM, text: 'one ' } });
  expect(follow(lost.toSpliced(6, 1, event(8, 'turn.failed')))).toEqual([
    expect.stringContaining('its text is not what its deltas said'),
  ]);
});

function follow(
  events: readonly UntypedEvent[],
  options?: ConstructorParameters<typeof TurnChecker>[0],
): string[] {
  const turnChecker = new TurnChecker(options);
  return events.flatMap((event) => turnChecker.follow(event));
}

it('The records are right if every acknowledged session and turn exists and ended as in the log.', () => {
  expect(verdict({})).toEqual([]);
  expect(
    verdict({
      turn: { status: 'failed', error: { code: 'runtime_restarted', message: '' } },
      end: 'failed',
    }),
  ).toEqual([]);
});

it.each(
  Object.entries<Parameters<typeof verdict>[0]>({
    'a lost session': { session: null },
    'a lost turn': { turn: null },
    'a session that failed': { session: { status: 'failed' as const } },
    'a session that is at a turn which nobody started': {
      session: { status: 'running' as const, active_turn_id: 'turn_2' },
    },
    'a turn that ended otherwise than the log says': { turn: { status: 'failed' as const } },
    'a turn that failed of something else': {
      turn: { status: 'failed' as const, error: { code: 'provider_exited', message: '' } },
      end: 'failed' as const,
    },
    'a turn without an end that recovery forgot': {
      turn: { status: 'running' as const },
      end: null,
    },
    'a turn that is not in the log': { end: undefined, acknowledged: [TURN, 'turn_2'] },
    'a turn that nobody was told of': { acknowledged: [] },
    'the wrong kind of stop': { previousStop: 'none' },
  }),
)('The records after a restart with %s have a finding.', (_what, doctored) => {
  expect(verdict(doctored)).not.toEqual([]);
});

function verdict(doctored: {
  session?: Partial<Session> | null;
  turn?: Partial<Turn> | null;
  end?: 'completed' | 'failed' | null | undefined;
  acknowledged?: string[];
  previousStop?: string;
}): string[] {
  const {
    session,
    turn,
    end = 'completed',
    acknowledged: ids = [TURN],
    previousStop = 'unclean',
  } = doctored;
  const events = log().slice(0, -1);
  if (end) events.push(event(8, `turn.${end}`));
  const turnChecker = new TurnChecker();
  for (const one of events) turnChecker.follow(one);
  const acknowledged = new Acknowledgements();
  acknowledged.askForSession();
  acknowledged.answerSession(SESSION);
  for (const id of ids) {
    acknowledged.askForTurn(SESSION);
    acknowledged.answerTurn(SESSION, id);
  }
  const sessions = new Map<string, Session>();
  if (session !== null)
    sessions.set(SESSION, {
      id: SESSION,
      status: 'ready',
      active_turn_id: null,
      ...session,
    } as Session);
  const turns = new Map<string, Turn>();
  if (turn !== null)
    for (const id of [TURN, 'turn_2'])
      turns.set(id, { turn_id: id, status: 'completed', error: null, ...turn } as Turn);
  const recovery = {
    previous_stop: 'unclean',
    turns_failed: [],
    turns_reconciled: [],
    sessions_failed: [],
  };
  const found = {
    recovery: recovery as unknown as RecoverySummary,
    log: events,
    upTo: 8,
    sessionLogs: new Map<string, []>(),
    sessions,
    turns,
  };
  return checkRecovery(found, { acknowledged, turnChecker, previousStop, atRest: false });
}
