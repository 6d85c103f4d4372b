import { expect, test } from 'vitest';
import {
  endTurn,
  type RawAgent,
  type AcpBehavior,
  sharedRawAgent,
} from '../../../support/providers/raw-agent.ts';
import { asking, done, touch } from '../../../support/providers/rows.ts';
import { ofKind } from '../../../support/turns.ts';

const on = sharedRawAgent();

const plan = { sessionUpdate: 'plan', entries: [{ content: 'think', status: 'pending' }] };
const compacted = { sessionUpdate: 'compaction_update', compactionId: 'c1', status: 'completed' };

/** An agent that sends some updates in a turn, and nothing else. */
const sending = (...updates: object[]): AcpBehavior => ({
  turns: {
    go(agent: RawAgent) {
      if (updates.length > 0) agent.update(...updates);
      return endTurn;
    },
    fail: () => Promise.reject(new Error('no')),
    ask: async (agent: RawAgent) => {
      await agent.ask(touch);
      return endTurn;
    },
  },
});

test('A completed turn without any item has a notice, before its end.', async () => {
  const { open } = on(sending());
  const session = await open();
  const turn = await session.run('go');
  expect([turn.status, turn.text]).toEqual(['completed', null]);
  const events = session.watch.of(turn.turn_id).map(({ kind }) => kind);
  expect(events.slice(-2)).toEqual(['session.notice', 'turn.completed']);
  expect(ofKind(session.watch.of(turn.turn_id), 'session.notice')).toMatchObject([
    { payload: { code: 'turn_without_items' } },
  ]);
});

test.each<[string, object[]]>([
  ['a message', [{ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'a' } }]],
  ['a thought', [{ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'a' } }]],
  ['a tool call', [{ sessionUpdate: 'tool_call', ...touch }, done]],
  ['a plan', [plan]],
  ['a compaction', [compacted]],
])('A completed turn with %s alone has no such notice.', async (_what, updates) => {
  const { open } = on(sending(...updates));
  const session = await open();
  const turn = await session.run('go');
  const notices = ofKind(session.watch.of(turn.turn_id), 'session.notice');
  expect(notices.map(({ payload }) => payload.code)).not.toContain('turn_without_items');
});

test('A failed turn has no such notice.', async () => {
  const { open } = on(sending());
  const session = await open();
  const turn = await session.run('fail');
  expect(turn.status).toBe('failed');
  expect(ofKind(session.watch.of(turn.turn_id), 'session.notice')).toEqual([]);
});

test('A completed turn whose request for approval was declined has no such notice.', async () => {
  const { open } = on(sending());
  const session = await open(asking);
  const { turnId, approval } = await session.asks('ask');
  await session.decide(approval, 'decline');
  expect(ofKind(session.watch.of(turnId), 'session.notice')).toEqual([]);
});
