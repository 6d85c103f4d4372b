import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { endTurn, type RawAgent, sharedRawAgent } from '../../support/providers/raw-agent.ts';
import { asking, onGo, touch } from '../../support/providers/rows.ts';

const on = sharedRawAgent();

const shell = { toolCallId: 't1', title: 'Shell', kind: 'execute' };
const reported = { sessionUpdate: 'tool_call', ...touch };

/** Asks for a permission, and sends a report in the same write. */
async function askAndReport(agent: RawAgent, call: object, report: object): Promise<object> {
  const answer = agent.ask(call);
  agent.update(report);
  await answer;
  return endTurn;
}

test('An approval shows the arguments of a call that is reported just after its request.', async () => {
  const { firstApproval } = on(onGo((agent) => askAndReport(agent, shell, reported)));
  const { session, approval } = await firstApproval('go', asking);
  expect(approval.arguments_missing).toBeUndefined();
  expect(approval.details).toMatchObject([{ type: 'command', command: 'touch it' }]);
  await session.decide(approval, 'accept');
});

test('An approval skips reports without arguments and shows the first report with arguments.', async () => {
  const { firstApproval } = on(
    onGo(async (agent) => {
      const answer = agent.ask(shell);
      agent.update({ sessionUpdate: 'tool_call', ...shell }, { ...reported, title: 'Shell' });
      await answer;
      return endTurn;
    }),
  );
  const { session, approval } = await firstApproval('go', asking);
  expect(approval.arguments_missing).toBeUndefined();
  expect(JSON.stringify(approval.details)).toContain('touch it');
  await session.decide(approval, 'decline');
});

test('An approval whose call is reported under another id says that the arguments are missing.', async () => {
  const { firstApproval } = on(
    onGo((agent) => askAndReport(agent, { ...shell, toolCallId: 'other' }, reported)),
  );
  const { session, approval } = await firstApproval('go', asking);
  expect(approval).toMatchObject({ arguments_missing: true, subject: null });
  expect(JSON.stringify(approval.details)).not.toContain('touch it');
  await session.decide(approval, 'decline');
});

test('A report after the approval was opened changes nothing in the approval.', async () => {
  const opened = Promise.withResolvers<void>();
  const { client, firstApproval } = on(
    onGo(async (agent) => {
      const answer = agent.ask(shell);
      await opened.promise;
      agent.update(reported);
      agent.say('reported');
      await answer;
      return endTurn;
    }),
  );
  const { session, turnId, approval } = await firstApproval('go', asking);
  expect(approval.arguments_missing).toBe(true);
  opened.resolve();
  await session.watch.until(
    turnId,
    ({ kind, payload }) => kind === 'message.delta' && payload.text === 'reported',
  );
  const params = { session_id: approval.session_id, approval_id: approval.id };
  const now = await client.call(endpoints.getApproval, { params });
  expect(now.details).toEqual(approval.details);
  expect(now.arguments_missing).toBe(true);
  await session.decide(approval, 'decline');
});

test('A request that the agent withdraws before a report arrives leaves no approval.', async () => {
  const { client, open } = on(
    onGo(async (agent) => {
      const params = { sessionId: 'raw', toolCall: shell, options: [] };
      const answer = agent.request('session/request_permission', params, 'taken-back');
      agent.send({ method: '$/cancel_request', params: { requestId: 'taken-back' } });
      await answer;
      agent.say('went on');
      return endTurn;
    }),
  );
  const session = await open(asking);
  const turnId = await session.send('go');
  await session.watch.end(turnId);
  expect(await client.call(endpoints.listApprovals, {})).toEqual([]);
});
