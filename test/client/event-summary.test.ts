import { expect, test } from 'vitest';
import { type EventKind, eventKinds, kinds } from '../../src/api/events.ts';
import { summarizeEvent } from '../../src/client/event-summary.ts';
import { anEvent } from '../support/event-record.ts';
import type { UntypedEvent } from '../support/untyped-events.ts';

function eventOf(kind: string, payload: object): UntypedEvent {
  return anEvent({ kind, scope: 'session', payload: { ...payload } });
}

test.for<[kind: EventKind, line: string]>([
  ['runtime.started', ''],
  ['session.created', 'fix the tests'],
  ['session.failed', 'the agent no longer has this session'],
  ['turn.accepted', 'fix the tests'],
  ['turn.started', ''],
  ['turn.failed', 'the agent exited with code 1'],
  ['message.delta', 'The tests'],
  ['tool.started', 'pending Read package.json'],
  ['tool.updated', 'running Read package.json: {"name"'],
  ['tool.completed', 'Read package.json: {"name":"project"}'],
  ['approval.requested', 'npm test'],
  ['approval.resolved', 'accepted by you (token api): npm test'],
  ['plan.updated', '1/2: run the tests'],
  ['usage.updated', '1280 of 200000 tokens'],
  ['process.queued', 'npm test'],
  ['process.output', '1 passed'],
  ['process.failed', 'exit code 1'],
  ['worktree.claimed', 'fix-tests'],
  ['team.created', 'tests'],
  ['team.message_created', 'run the tests'],
  ['team.message_cancelled', ''],
  ['delivery.failed', 'session sess_019aa8d54d217a6c8b1f6e4d3c2b1a90 is closed'],
])('The summary of an event %s is "%s".', ([kind, line]) => {
  expect(summarizeEvent(eventOf(kind, kinds[kind].example))).toBe(line);
});

test.for(eventKinds)(
  'An event %s has a summary, even if its payload lost its large fields.',
  (kind) => {
    const { example, large } = kinds[kind];
    const lost: readonly string[] = large;
    const rest = Object.entries(example).filter(([name]) => !lost.includes(name));
    const payload = { ...Object.fromEntries(rest), truncated: true, total_bytes: 300_000 };
    expect(summarizeEvent(eventOf(kind, payload))).toBeTypeOf('string');
  },
);

test('The summary of an event is empty for a kind that a newer server has added.', () => {
  expect(summarizeEvent(eventOf('turn.paused', { text: 'paused' }))).toBe('');
});
