import { expect, it } from 'vitest';
import { anEvent } from '../../support/event-record.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';
import { Receipts } from './receipts.ts';
import { checkDecision } from './activities/approvals.ts';
import { checkReleases, checkSpent } from './activities/budgets.ts';
import { checkDeliveries } from './activities/hooks.ts';
import { checkProcess } from './activities/processes.ts';
import { checkRuns } from './activities/queue.ts';
import { checkMessage } from './activities/teams.ts';

function event(seq: number, kind: string, more: Partial<UntypedEvent> = {}): UntypedEvent {
  return anEvent({ seq, id: `evt_${seq}`, kind, session_id: 'sess_1', turn_id: null, ...more });
}

const accepted = (seq: number) => event(seq, 'turn.accepted', { turn_id: 'turn_1' });

it('A lost, a repeated and an unrequested turn are reported.', () => {
  const receipts = new Receipts();
  receipts.add('turn.accepted', 'turn_1');
  const due = receipts.due();
  expect(receipts.missing(due)).toEqual(['turn.accepted turn_1 was acknowledged and is lost']);
  expect(receipts.take([accepted(1)])).toEqual([]);
  expect(receipts.missing(due)).toEqual([]);
  expect(receipts.unasked(new Set(['turn_1']))).toEqual([]);
  expect(receipts.take([accepted(2)])).toEqual([
    'the log has turn.accepted turn_1 twice, again at seq 2',
  ]);
  receipts.take([event(3, 'queue.added', { payload: { entry: { id: 'que_1' } } })]);
  expect(receipts.unasked(new Set())).toEqual(['seq 3: nobody asked for queue.added que_1']);
});

it('An approval with two answers, with another answer or without an answer is reported.', () => {
  const approval = { id: 'apr_1', status: 'accepted', decision: 'accept' } as const;
  expect(checkDecision(approval, ['accept'])).toEqual([]);
  expect(checkDecision({ ...approval, status: 'cancelled', decision: null }, [])).toEqual([]);
  expect(checkDecision(approval, ['accept', 'decline'])).toHaveLength(1);
  expect(checkDecision(approval, ['decline'])).toHaveLength(1);
  expect(checkDecision(approval, [])).toHaveLength(1);
});

it('A queue run that starts twice and a due time that is due twice are reported.', () => {
  const entry = { id: 'que_1', runs: 1, every: null };
  const started = (seq: number) => event(seq, 'queue.started', { payload: { entry } });
  const due = (seq: number) => event(seq, 'queue.due', { payload: { entry, due_at: 5 } });
  expect(checkRuns([due(1), started(2)])).toEqual([]);
  expect(checkRuns([due(1), started(2), started(3)])).toHaveLength(1);
  expect(checkRuns([due(1), due(2), started(3)])).toHaveLength(1);
});

it('A lost event, an unknown event and an earlier event after a later one are reported of a hook.', () => {
  const [one, two] = [1, 2].map((seq) => ({ seq, id: `evt_${seq}` })) as [Sent, Sent];
  expect(checkDeliveries([one, one, two], [one, two])).toEqual([]);
  expect(checkDeliveries([two], [one, two])).toHaveLength(1);
  expect(checkDeliveries([one, two], [one])).toHaveLength(1);
  expect(checkDeliveries([one, two, one], [one, two])).toHaveLength(1);
});

interface Sent {
  seq: number;
  id: string;
}

it('A budget that counts a turn twice or loses tokens, and a turn above the limit are reported.', () => {
  const turn = { status: 'completed', usage: { total_tokens: 100 }, started_at: 1 } as const;
  const turns = [turn, turn, { ...turn, started_at: null }] as never;
  expect(checkSpent({ turns: 2, tokens: 200 }, turns)).toEqual([]);
  expect(checkSpent({ turns: 3, tokens: 200 }, turns)).toHaveLength(1);
  expect(checkSpent({ turns: 2, tokens: 100 }, turns)).toHaveLength(1);
  const started = (seq: number) => event(seq, 'turn.started');
  const three = [1, 2, 3].map(started);
  expect(checkReleases([...three, event(4, 'budget.released'), started(5)])).toEqual([]);
  expect(checkReleases([...three, started(4)])).toHaveLength(1);
});

it('A message that got lost, came twice or reached another session is reported.', () => {
  const sent = { recipients: ['sess_1'] };
  const delivery = { recipient_agent_id: 'sess_1', status: 'injected', attempts: 1 } as const;
  const turn = { session_id: 'sess_1' };
  expect(checkMessage('msg_1', sent, [delivery], [turn])).toEqual([]);
  expect(checkMessage('msg_1', sent, [], [])).toHaveLength(1);
  expect(checkMessage('msg_1', sent, [delivery], [])).toHaveLength(1);
  expect(checkMessage('msg_1', sent, [delivery], [turn, turn])).toHaveLength(1);
  expect(checkMessage('msg_1', sent, [delivery], [turn, { session_id: 'sess_2' }])).toHaveLength(1);
  expect(checkMessage('msg_1', sent, [{ ...delivery, status: 'failed' }], [turn])).toHaveLength(1);
});

it('A process that ran twice, has two ends or lost output is reported.', () => {
  const output = 'word begins\nword ends\n';
  const process = {
    process_id: 'proc_1',
    status: 'completed',
    stdout_bytes: output.length,
    stdout_truncated: false,
  } as const;
  const found = { label: 'word', output, ends: ['process.completed'], runs: 1 };
  expect(checkProcess(process, found)).toEqual([]);
  expect(checkProcess(process, { ...found, runs: 2 })).toHaveLength(1);
  expect(checkProcess(process, { ...found, output: 'word begins\n' })).toHaveLength(1);
  expect(checkProcess(process, { ...found, ends: [...found.ends, 'process.failed'] })).toHaveLength(
    1,
  );
  const part = { ...process, stdout_truncated: true };
  expect(checkProcess(part, { ...found, output: '' })).toEqual([]);
  expect(checkProcess(part, { ...found, output: 'word ends\n' })).toHaveLength(1);
  expect(checkProcess({ ...part, stdout_bytes: 3 }, { ...found, output: '' })).toHaveLength(1);
});
