import { expect, test } from 'vitest';
import { anError } from '../../support/an-error.ts';
import { ofKind } from '../../support/turns.ts';
import {
  endTurn,
  type AcpBehavior,
  sharedRawAgent,
  usualOptions,
} from '../../support/providers/raw-agent.ts';
import { asking } from '../../support/providers/rows.ts';

const on = sharedRawAgent();

/** An agent that requests a permission and repeats the chosen option as a message. */
function asksFor(toolCall: () => object): AcpBehavior {
  return {
    turns: {
      async go(agent, { sessionId }) {
        const params = { sessionId, options: usualOptions, toolCall: toolCall() };
        const { result } = await agent.request('session/request_permission', params);
        agent.say(`selected ${(result as { outcome: { optionId: string } }).outcome.optionId}`);
        return endTurn;
      },
    },
  };
}

function nested(levels: number): unknown {
  let value: unknown = 'core';
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

test.each([
  [
    'of more than 8 MiB',
    () => ({ text: 'x'.repeat(9e6) }),
    /the request is too large: \d+ bytes \(limit 8 MiB\)/,
  ],
  [
    'with too many fields',
    () => ({ list: Array.from({ length: 60_000 }, () => 0) }),
    /more than 50000 values/,
  ],
  ['nested 1,000 levels deep', () => ({ deep: nested(1000) }), /nested deeper than 200 levels/],
])('A permission request %s is declined with a notice.', async (_name, rawInput, why) => {
  const { firstTurn } = on(
    asksFor(() => ({ toolCallId: 'c', title: 'do it', kind: 'execute', rawInput: rawInput() })),
  );
  const { session, turn } = await firstTurn('go', asking);
  expect(turn).toMatchObject({ status: 'completed', text: 'selected r1' });
  const [notice] = ofKind(session.watch.of(turn.turn_id), 'session.notice');
  expect(notice?.payload).toMatchObject(anError('request_too_large', why));
  expect(ofKind(session.watch.of(turn.turn_id), 'approval.requested')).toEqual([]);
  const [call] = ofKind(session.watch.of(turn.turn_id), 'tool.completed');
  expect(call?.payload).toMatchObject({ status: 'failed' });
});

test('A permission request just below the limits can be approved.', async () => {
  const { firstApproval } = on(
    asksFor(() => ({
      toolCallId: 'c',
      title: 'do it',
      kind: 'execute',
      rawInput: { text: 'y'.repeat(7.9 * 1024 * 1024), deep: nested(150) },
    })),
  );
  const { session, approval } = await firstApproval('go', asking);
  expect(await session.decide(approval, 'accept')).toMatchObject({ text: 'selected a1' });
});
