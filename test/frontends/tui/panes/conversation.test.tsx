import { expect, test } from 'vitest';
import { sharedDemo } from '../../../support/demo-server.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { ConversationModel } from '../../../../src/frontends/tui/panes/conversation-model.ts';
import { ConversationPane } from '../../../../src/frontends/tui/panes/pane.tsx';
import { keys } from '../test-screen.tsx';
import { testPane } from './test-pane.tsx';
import { runTurn, send, withSession } from '../../../support/turns.ts';

const server = sharedDemo();

async function opened(more: object = {}) {
  const { client, id } = await withSession(server(), more);
  const model = new ConversationModel({ client, clock: systemClock, sessionId: id });
  return { client, id, model };
}

test('The pane shows old and new messages as rendered Markdown, and each tool call in one line.', async () => {
  const { client, id, model } = await opened();
  await runTurn(client, id, 'say # Plan; tool npm test => all pass');
  const { expectShows, lines, press } = testPane(model, ConversationPane);
  await expectShows('✓ npm test');
  expect(lines().map((line) => line.trimEnd())).toEqual([
    '> say # Plan; tool npm test => all pass',
    '',
    'Plan',
    '',
    '✓ npm test',
    ...Array.from({ length: 6 }, () => ''),
    't expand tools  o prompts',
  ]);
  await runTurn(client, id, 'say and **more**');
  await expectShows(/^and more *$/m);
  await press('t').shows('│ all pass');
  await press('t');
  expect(lines().join('\n')).not.toContain('│ all pass');
});

test('The pane shows a streaming message from its start, also if it is opened later.', async () => {
  const { client, id, model } = await opened();
  await send(client, id, 'repeat 3 1 tick; wait 60000');
  const { expectShows } = testPane(model, ConversationPane);
  await expectShows('tickticktick');
  const late = new ConversationModel({ client, clock: systemClock, sessionId: id });
  await testPane(late, ConversationPane).expectShows('tickticktick');
});

test('The pane shows an approval and its decision within the conversation.', async () => {
  const { client, id, model } = await opened({ permission_mode: 'require_approval' });
  await send(client, id, 'ask rm -rf build');
  const { expectShows } = testPane(model, ConversationPane);
  await expectShows(/^\? \w+: rm -rf build: needs approval/m);
});

test('The pane scrolls back through older turns, which it reads on demand, and follows again.', async () => {
  const { client, id, model } = await opened();
  for (let turn = 1; turn <= 12; turn++) await runTurn(client, id, `say number ${turn}`);
  const { expectShows, press, lines } = testPane(model, ConversationPane);
  await expectShows(/^number 12/m);
  await press('k').shows('more below');
  await press('/', 'number 1', keys.enter).shows(
    /"number 1": \d+ of \d+ in the last 10 turns, older not loaded/,
  );
  await press(keys.escape).shows('more below');
  await press('g').shows(/^> say number 1\b/m);
  await press('/', 'number 1', keys.enter).shows(/"number 1": \d of 8 in all turns/);
  await press(keys.escape).shows('more below');
  await press('G').shows(/^number 12/m);
  expect(lines().join('\n')).not.toContain('more below');
});

test('The pane searches with n and N, and goes to a prompt from the outline.', async () => {
  const { client, id, model } = await opened();
  for (const name of ['one', 'two', 'three', 'four', 'five', 'six'])
    await runTurn(client, id, `say ${name} needle`);
  const { expectShows, press, hold, lines } = testPane(model, ConversationPane);
  await expectShows(/^six needle/m);
  await press('/').shows(/^\/$/m);
  expect(hold()).toBe('all');
  await press('NEEDLE', keys.enter).shows('"NEEDLE": 12 of 12 in all turns');
  expect(hold()).toBe('escape');
  await press('n', 'n', 'n', 'n', 'n', 'n', 'n').shows('"NEEDLE": 5 of 12');
  await expectShows(/^> say three needle/m);
  await press('N').shows('"NEEDLE": 6 of 12');
  await press(keys.escape).shows('o prompts');
  expect(hold()).toBe(null);
  await press('o').shows(/^> say \w+ needle/m);
  expect(lines().filter((line) => line.includes('say'))).toHaveLength(6);
  expect(hold()).toBe('all');
  await press('g', 'j', keys.enter).shows(/^two needle/m);
  expect(lines()[0]).toMatch(/^> say two needle/);
  await press(']');
  expect(lines()[0]).toMatch(/^> say three needle/);
  await press('[', '[');
  expect(lines()[0]).toMatch(/^> say one needle/);
});

test('The last answer, the visible text and the id can be copied.', async () => {
  const { client, id, model } = await opened();
  await runTurn(client, id, 'say the `answer`');
  const { expectShows } = testPane(model, ConversationPane);
  await expectShows(/^the `answer`/m);
  expect(model.copyable()).toEqual([
    { name: 'last answer', text: 'the `answer`' },
    { name: 'visible text', text: '> say the `answer`\n\nthe `answer`' },
    { name: 'session id', text: id },
  ]);
});
