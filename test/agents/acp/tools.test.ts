import { expect, test } from 'vitest';
import { ofKind } from '../../support/turns.ts';
import { asked, itemsOf } from '../../support/providers/calls.ts';
import { endTurn, sharedRawAgent } from '../../support/providers/raw-agent.ts';
import { asking, done, onGo, textContent, touch } from '../../support/providers/rows.ts';

const on = sharedRawAgent();

test('A tool call whose first message is an update has one start and one end.', async () => {
  const { client, firstTurn } = on(
    onGo((agent) => {
      agent.update({
        sessionUpdate: 'tool_call_update',
        ...touch,
        status: 'completed',
        content: [textContent('touched')],
      });
      return endTurn;
    }),
  );
  const { session, turn } = await firstTurn('go');
  expect(turn.status).toBe('completed');
  const events = session.watch.of(turn.turn_id);
  expect(ofKind(events, 'tool.started')).toHaveLength(1);
  expect(ofKind(events, 'tool.completed')).toHaveLength(1);
  expect(await itemsOf(client, turn)).toMatchObject([
    {
      kind: 'tool',
      status: 'completed',
      text: 'touched',
      tool: { call_ref: 't1', title: 'touch it', kind: 'execute', input: touch.rawInput },
    },
  ]);
});

test('A tool call whose first message is a permission request has one start and one end.', async () => {
  const { firstApproval } = on(
    onGo(async (agent) => {
      await agent.ask({ ...touch, status: 'pending' });
      agent.update({ ...done, rawOutput: 'touched' });
      return endTurn;
    }),
  );
  const { session, turnId, approval } = await firstApproval('go', asking);
  expect(approval).toMatchObject({ kind: 'command', title: 'touch it' });
  await session.decide(approval, 'accept');
  const events = session.watch.of(turnId);
  expect(ofKind(events, 'tool.started')).toHaveLength(1);
  const [completed] = ofKind(events, 'tool.completed');
  expect(completed?.payload).toMatchObject({ status: 'completed', text: 'touched' });
});

test('Ids that are numbers are accepted, and the answer has the id of the option as the agent sent it.', async () => {
  const { client, firstApproval } = on(
    onGo(async (agent) => {
      const call = { ...touch, toolCallId: 7 };
      agent.update({ sessionUpdate: 'tool_call', ...call, status: 'pending' });
      const options = [{ optionId: 1, kind: 'allow_once', name: 'Allow' }];
      const { optionId } = await agent.ask({ toolCallId: 7 }, options);
      agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 7, status: 'completed' });
      agent.say(`answered ${JSON.stringify(optionId)}`);
      return endTurn;
    }),
  );
  const { session, approval } = await firstApproval('go', asking);
  expect(approval).toMatchObject({ title: 'touch it', subject: { input: touch.rawInput } });
  const turn = await session.decide(approval, 'accept');
  expect(turn).toMatchObject({ status: 'completed', text: 'answered 1' });
  const [call] = await itemsOf(client, turn);
  expect(call).toMatchObject({ status: 'completed', tool: { call_ref: '7', title: 'touch it' } });
});

test('An approval shows the title and input of its call, although the request only has the id.', async () => {
  const { open } = on(
    onGo(async (agent) => {
      agent.update({ sessionUpdate: 'tool_call', ...touch, status: 'pending' });
      await agent.ask({ toolCallId: 't1', kind: 'execute', status: 'pending' });
      return endTurn;
    }),
  );
  const session = await open(asking);
  const approval = await asked(session.watch, await session.send('go'));
  expect(approval).toMatchObject({
    kind: 'command',
    title: 'touch it',
    subject: { input: touch.rawInput },
  });
});

test('A declined tool call has failed if the agent does not mention it again.', async () => {
  const { firstApproval } = on(
    onGo(async (agent) => {
      const { optionId } = await agent.ask(touch);
      agent.say(`answered ${optionId}`);
      return endTurn;
    }),
  );
  const { session, turnId, approval } = await firstApproval('go', asking);
  const turn = await session.decide(approval, 'decline');
  expect(turn).toMatchObject({ status: 'completed', text: 'answered r1' });
  expect(ofKind(session.watch.of(turnId), 'tool.completed')).toMatchObject([
    { payload: { status: 'failed' } },
  ]);
});

test('A tool call that the agent never ends is completed with its turn.', async () => {
  const { client, firstTurn } = on(
    onGo((agent) => {
      agent.update({ sessionUpdate: 'tool_call', ...touch, status: 'in_progress' });
      return endTurn;
    }),
  );
  const { turn } = await firstTurn('go');
  expect(await itemsOf(client, turn)).toMatchObject([{ kind: 'tool', status: 'completed' }]);
});

test.each([
  ['a text', { rawOutput: 'out' }, 'out'],
  ['an object with its output', { rawOutput: { output: 'out', metadata: {} } }, 'out'],
  ['another object', { rawOutput: { exit: 0 } }, '{"exit":0}'],
  ['an array', { rawOutput: [{ type: 'text' }] }, '[{"type":"text"}]'],
  ['content beside raw output', { rawOutput: 'raw', content: [textContent('out')] }, 'out'],
  [
    'several contents',
    { content: [textContent('one'), { type: 'terminal', terminalId: 'x' }, textContent('two')] },
    'one\ntwo',
  ],
  [
    'a diff',
    { content: [{ type: 'diff', path: '/a', oldText: '', newText: 'new' }] },
    '--- /a\n+++ /a\n@@ -0,0 +1,1 @@\n+new\n\\ No newline at end of file\n',
  ],
  ['nothing', {}, ''],
  ['fields of the wrong kind', { content: 7, status: 'done', title: [] }, ''],
])('A tool may return %s as its output.', async (_name, output, text) => {
  const { client, firstTurn } = on(
    onGo((agent) => {
      agent.update({ sessionUpdate: 'tool_call', ...touch }, { ...done, ...output });
      return endTurn;
    }),
  );
  const { turn } = await firstTurn('go');
  expect(turn.status).toBe('completed');
  expect(await itemsOf(client, turn)).toMatchObject([{ text, tool: { title: 'touch it' } }]);
});
