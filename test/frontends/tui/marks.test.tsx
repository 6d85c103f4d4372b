import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import { testDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { keys, testScreen } from './test-screen.tsx';
import { openSession, send, withSession } from '../../support/turns.ts';

const start = { page: 'top' } as const;
const asking = { permission_mode: 'require_approval' };

const sessionsOf = (client: Client) => client.call(endpoints.listSessions, { query: {} });

test('Marked rows are shown in the list and in the head, and Escape clears the marks.', async () => {
  const { client, directory } = await testDemo();
  for (const title of ['one', 'two', 'three']) await openSession(client, directory, { title });
  const { expectShows, press } = testScreen(client, start);
  await expectShows('▌○  three');
  await press(' ', ' ').shows('2 marked');
  await expectShows(/ ○ \*three[^]* ○ \*two[^]*▌○ {2}one/);
  await expectShows('d decline  x stop  p pin  esc clear marks');
  await press('k', ' ').shows('1 marked');
  await press(keys.escape).hides('marked');
  await press('+').hides('SESSIONS');
});

test('One confirmation lists all marked sessions, and pins or closes all of them.', async () => {
  const { client, directory } = await testDemo();
  for (const title of ['one', 'two', 'three']) await openSession(client, directory, { title });
  const busy = await openSession(client, directory, { title: 'busy' });
  await send(client, busy.id, 'silent');
  const { expectShows, expectHides, press } = testScreen(client, start);
  await expectShows(/▌◐ +busy/);
  await press(' ', ' ', ' ', 'p').shows(
    /Pin 3 rows\?[^]*busy[^]*three[^]*two[^]*y pin 3 {2}n cancel/,
  );
  await press('n').hides('Pin 3 rows?');
  await press('p', 'y').shows('Pinned 3');
  expect((await sessionsOf(client)).map(({ title, pinned }) => [title, pinned])).toEqual([
    ['busy', true],
    ['three', true],
    ['two', true],
    ['one', false],
  ]);
  await expectHides('marked');
  await press('g', ' ', ' ', 'x');
  await expectShows(
    /busy[^]*y interrupt turn {2}x close[^]*y interrupt or kill 1 {2}x close or kill 2/,
  );
  await press('x').shows('Closed or stopped 2');
  const closed = (await sessionsOf(client)).filter(({ status }) => status === 'closed');
  expect(closed.map(({ title }) => title)).toEqual(['busy', 'three']);
});

test('A mark is on the row that an arrow key, which arrived with it, has selected.', async () => {
  const { client, directory } = await testDemo();
  for (const title of ['one', 'two']) await openSession(client, directory, { title });
  const { expectShows, press } = testScreen(client, start);
  await expectShows('▌○  two');
  await press(`${keys.down} `).shows('▌○ *one');
});

test('All marked approvals are declined at once, and approved only one at a time.', async () => {
  const { client, directory } = await testDemo();
  const pending = () => client.call(endpoints.listApprovals, { query: { status: 'pending' } });
  // The list has the oldest request first, and agents start at their own pace.
  for (const [at, title] of ['one', 'two', 'three'].entries()) {
    const { id } = await openSession(client, directory, { title, ...asking });
    await send(client, id, `ask rm -rf ${title}`);
    await expectEventually(pending).toHaveLength(at + 1);
  }
  const { expectShows, press } = testScreen(client, start);
  await expectShows('NEEDS APPROVAL 3');
  await press('g', ' ', ' ', 'd').shows(
    /Decline 2 rows\?[^]*rm -rf one[^]*rm -rf two[^]*y decline 2/,
  );
  await press(keys.escape).shows('NEEDS APPROVAL 3');
  await press('a');
  // The dialog shows the selected request, not the marked ones.
  await expectShows(/rm -rf three[^]*⏎ approve/);
  await press('q', 'd', 'y').shows('NEEDS APPROVAL 1');
  await expectEventually(pending).toMatchObject([{ title: 'rm -rf three' }]);
});

test('A row whose change the server refuses stays marked, and the reason is shown.', async () => {
  const { client, directory } = await withSession(testDemo(), { title: 'idle' });
  const { id: session_id } = await openSession(client, directory, { title: 'busy' });
  const { turn_id } = await send(client, session_id, 'silent');
  const { expectShows, press } = testScreen(client, start);
  await expectShows(/▌◐ +busy/);
  await press(' ', ' ', 'x').shows(/y interrupt or kill 1 {2}x close or kill 2/);
  const params = { session_id, turn_id };
  await client.call(endpoints.interruptTurn, { params, body: {} });
  await expectEventually(() => sessionsOf(client)).toMatchObject([{ active_turn_id: null }, {}]);
  await press('y').shows(/Stopped 0 of 1: "busy": /);
  await expectShows('1 marked');
});

test('Nothing is changed before the last of the marked rows was shown.', async () => {
  const { client, directory } = await testDemo();
  const titles = Array.from({ length: 16 }, (_, i) => `job ${i}`);
  for (const title of titles) await openSession(client, directory, { title });
  const { expectShows, press } = testScreen(client, start, { rows: 14, columns: 80 });
  await expectShows('▌○  job 15');
  await press(...titles.map(() => ' '), 'x').shows(
    /Stop 16 rows\?[^]*↓ \d more {2}space next page/,
  );
  await press('x').shows(/not yet: \d more below/);
  expect((await sessionsOf(client)).every(({ status }) => status === 'ready')).toBe(true);
  await press('G').shows('x close or kill 16  n cancel');
  await press('x').shows('Closed or stopped 16');
});
