import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { endTurn, type RawAgent, sharedRawAgent } from '../../../support/providers/raw-agent.ts';
import { ofKind } from '../../../support/turns.ts';

const on = sharedRawAgent();

/** An agent that leaves tools open at the end of its turn. */
const leaving = (count: number, input: object) => ({
  turns: {
    go(agent: RawAgent) {
      agent.say('done soon');
      for (let n = 0; n < count; n++)
        agent.update({
          sessionUpdate: 'tool_call',
          toolCallId: `c${n}`,
          title: 'do it',
          kind: 'edit',
          status: 'pending',
          rawInput: input,
        });
      return endTurn;
    },
  },
});

test.each<[string, number, object]>([
  ['two large ones', 2, { text: 'x'.repeat(700_000) }],
  ['five large ones', 5, { text: 'x'.repeat(700_000) }],
  ['more than one transaction closes', 1100, { n: 1 }],
])(
  'The tools that a turn leaves open end with the turn, before its end: %s.',
  async (_what, count, input) => {
    const { client, open } = on(leaving(count, input));
    const session = await open();
    const turn = await session.run('go');
    expect([turn.status, turn.text]).toEqual(['completed', 'done soon']);
    const events = session.watch.of(turn.turn_id);
    expect(events.at(-1)?.kind).toBe('turn.completed');
    const ended = ofKind(events, 'tool.completed');
    expect(new Set(ended.map(({ payload }) => payload.item_id)).size).toBe(count);
    expect(ended).toHaveLength(count);
    const params = { session_id: session.id, turn_id: turn.turn_id };
    const items = await client.call(endpoints.listItems, { params });
    expect(items.every(({ status }) => status === 'completed')).toBe(true);
  },
);
