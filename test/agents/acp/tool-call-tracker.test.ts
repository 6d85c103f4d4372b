import { expect, test } from 'vitest';
import { ToolCallTracker } from '../../../src/agents/acp/tool-call-tracker.ts';
import { NOT_KEPT, type ReportedCall } from '../../../src/agents/acp/reported-call.ts';
import { MessageBudget } from '../../../src/agents/budget.ts';

const MEGABYTE = 1024 * 1024;

/** Starts a turn and reports messages to the tracker as the adapter does. */
function reporting() {
  const tracker = new ToolCallTracker();
  tracker.beginTurn();
  return {
    tracker,
    report(ref: string, raw: ReportedCall, status = 'pending') {
      const budget = new MessageBudget();
      const news = budget.bounded(raw) as ReportedCall;
      tracker.reported(ref, news, { status: status as 'pending' }, { raw, budget });
    },
  };
}

const large = (nth: number) => ({ rawInput: { text: `${nth} ${'x'.repeat(MEGABYTE)}` } });

test('The tracker forgets the oldest open calls when their messages exceed the limit of an agent.', () => {
  const { tracker, report } = reporting();
  for (let nth = 0; nth < 200; nth++) report(`c${nth}`, large(nth));
  const kept = Array.from({ length: 200 }, (_, nth) => tracker.of(`c${nth}`)).filter(Boolean);
  expect(kept.length).toBeGreaterThan(5);
  expect(kept.length).toBeLessThan(40);
  expect(tracker.of('c199')).toMatchObject(large(199));
});

test('The raw output of an open call counts, although no message keeps it.', () => {
  const { tracker, report } = reporting();
  for (let nth = 0; nth < 20; nth++)
    report(`c${nth}`, { title: 'ls', rawOutput: `${nth} ${'x'.repeat(4 * MEGABYTE)}` });
  const kept = Array.from({ length: 20 }, (_, nth) => tracker.of(`c${nth}`)).filter(Boolean);
  expect(kept.length).toBeLessThan(10);
});

test('A forgotten call has a mark, so that a request about it is not taken as described.', () => {
  const { tracker, report } = reporting();
  report('first', { title: 'rm -rf build' });
  expect(tracker.messagesOf('first')).toEqual([{ title: 'rm -rf build' }]);
  for (let nth = 0; nth < 50; nth++) report(`c${nth}`, large(nth));
  expect(tracker.messagesOf('first')).toEqual([{ [NOT_KEPT]: 1 }]);
  expect(tracker.messagesOf('c49')).toEqual([large(49)]);
  tracker.endTurn();
  tracker.beginTurn();
  expect(tracker.messagesOf('first')).toEqual([]);
});

test('Arguments that are streamed count once, with all of them so far.', () => {
  const { tracker, report } = reporting();
  report('first', { title: 'ls' });
  const text = 'x'.repeat(MEGABYTE);
  for (let part = 1; part <= 100; part++)
    report('streamed', { rawInput: { text: text.slice(0, (part * MEGABYTE) / 100) } });
  expect(tracker.messagesOf('first')).toEqual([{ title: 'ls' }]);
  expect(tracker.messagesOf('streamed')).toEqual([{ rawInput: { text } }]);
});

test('Calls that have ended free their room.', () => {
  const { tracker, report } = reporting();
  report('first', { title: 'ls' });
  for (let nth = 0; nth < 100; nth++) {
    report(`c${nth}`, large(nth));
    report(`c${nth}`, {}, 'completed');
  }
  expect(tracker.messagesOf('first')).toEqual([{ title: 'ls' }]);
});

test('The tracker forgets the oldest of more than ten thousand open calls.', () => {
  const { tracker, report } = reporting();
  for (let nth = 0; nth < 10_500; nth++) report(`c${nth}`, { title: 'ls' });
  expect(tracker.messagesOf('c0')).toEqual([{ [NOT_KEPT]: 1 }]);
  expect(tracker.messagesOf('c10499')).toEqual([{ title: 'ls' }]);
});

test('The oldest outputs of ended calls are forgotten when the outputs exceed the limit of an agent.', () => {
  const { tracker, report } = reporting();
  const text = 'x'.repeat(MEGABYTE / 2);
  const content = [{ type: 'content', content: { type: 'text', text } }];
  report('open', { content });
  for (let nth = 0; nth < 200; nth++) report(`c${nth}`, { content }, 'completed');
  const lengths = ['open', 'c0', 'c199'].map((ref) => outputAfter(tracker, ref).length);
  expect(lengths).toEqual([text.length + 2, 1, text.length + 2]);
});

/** The shown output of a call once its terminal has written one more character. */
function outputAfter(tracker: ToolCallTracker, ref: string): string {
  const raw = { _meta: { terminal_output: { data: '.' } } };
  const how = { raw, budget: new MessageBudget() };
  return tracker.reported(ref, raw, {}, how)?.change.output ?? '';
}
