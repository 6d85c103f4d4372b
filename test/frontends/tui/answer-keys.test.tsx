import { expect, test } from 'vitest';
import type { Question } from '../../../src/api/approvals.ts';
import { endpoints } from '../../../src/api/index.ts';
import { testDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { keys, testScreen } from './test-screen.tsx';
import { testRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider, type ScriptedTurn } from '../../support/scripted-provider.ts';
import { openSession, send, withSession } from '../../support/turns.ts';

test('A request on the screen has the keys of the prompt: l leaves it pending, v goes to its beginning, n declines it.', async () => {
  const { client, id } = await withSession(testDemo(), { permission_mode: 'require_approval' });
  await send(client, id, 'ask rm -rf build');
  const withStatus = async (status: 'pending' | 'declined') =>
    (await client.call(endpoints.listApprovals, { query: { status } })).length;
  const { expectShows, press } = testScreen(client, { page: 'top' });
  await expectShows('NEEDS APPROVAL 1');
  await press('a').shows('⏎ approve');
  await press('l').hides('⏎ approve');
  expect(await withStatus('pending')).toBe(1);
  await press('a').shows('⏎ approve');
  await press('v').shows('tool: rm -rf build');
  await press('n').shows('Reason (optional, ⏎ declines):');
  await press(keys.enter);
  await expectEventually(() => withStatus('declined')).toBe(1);
});

test('The screen shows a question whose id is also the name of a property of every object.', async () => {
  const question: Question = {
    id: 'constructor',
    question: 'Which constructor?',
    header: null,
    options: [],
    free: true,
    multiple: false,
    required: true,
    type: 'text',
  };
  const ask = async ({ sink, end }: ScriptedTurn) => {
    const asked = { title: 'asks', request: {}, details: [], subject: null };
    const answer = await sink.ask(
      { ...asked, kind: 'question', questions: [question] },
      new AbortController().signal,
    );
    const answers = 'answers' in answer ? answer.answers : null;
    await sink.update({ type: 'message', text: JSON.stringify(answers) });
    end(completed);
  };
  const provider = scriptedProvider((turn) => void ask(turn));
  const { client, directory } = await testRuntime({ providers: [provider] });
  const { id } = await openSession(client, directory, { permission_mode: 'require_approval' });
  await send(client, id, 'ask');
  const { expectShows, press } = testScreen(client, { page: 'top' });
  await expectShows('NEEDS APPROVAL 1');
  await press('a').shows('Which constructor?');
  await press(keys.enter).shows('an answer is required');
  await press('ours', keys.enter).shows('{"constructor":["ours"]}');
});
