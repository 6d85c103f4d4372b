import { expect, test } from 'vitest';
import { sharedDemo, testDemo } from '../../support/demo-server.ts';
import { endpoints } from '../../../src/api/index.ts';
import { keptPort } from '../../support/kept-port.ts';
import { testServer } from '../../support/server.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession, runTurn, send, withSession } from '../../support/turns.ts';
import { keys, testScreen } from './test-screen.tsx';
import { shortEvent, writeLog } from '../../support/written-log.ts';

const start = { page: 'tail', scope: {} } as const;

const server = sharedDemo();

test('The page shows stored and new events, and a message as one line.', async () => {
  const { client, id } = await withSession(server());
  await runTurn(client, id, 'say before');
  const { expectShows, lines, press } = testScreen(client, start);
  await expectShows(/message\.completed +before/);
  await expectShows('live');
  await runTurn(client, id, 'repeat 30 5 tick; say after');
  await expectShows(/message\.completed +after/);
  expect(lines().filter((line) => line.includes('ticktick'))).toHaveLength(1);
  expect(lines()).toHaveLength(20);
  await press('?').shows('Pause: count new events');
  await press(keys.escape).shows(/message\.completed +after/);
});

test('The page pauses, counts new events, and returns to the end.', async () => {
  const { client, id } = await withSession(server());
  const { expectShows, press } = testScreen(client, start);
  await expectShows(/session\.created/);
  await press(' ').shows('paused  live');
  await runTurn(client, id, 'say unseen');
  await expectShows(/paused, \d+ new/);
  await press(keys.end).hides('paused');
  await expectShows(/message\.completed +unseen/);
});

test('The page filters by the session of an event and by kinds, and shows all events again.', async () => {
  const { client, directory } = server();
  const [one, two] = [
    await openSession(client, directory, { title: 'first one' }),
    await openSession(client, directory, { title: 'second one' }),
  ];
  const { expectShows, expectHides, press } = testScreen(client, start);
  await expectShows('second one');
  await press('s').shows(`session "second one" (${two.id.slice(-8)})`);
  await expectHides('first one');
  await press('e').shows('first one');
  await press('f').shows('Kinds');
  await press('turn, nonsense\r').shows('unknown kind "nonsense"');
  await press('f').shows('Kinds');
  await press('turn\r').shows('all · turn.*');
  await expectHides('second one');
  await runTurn(client, one.id, 'say nothing of it');
  await expectShows(/turn\.completed/);
  await expectHides('message.completed');
  await press('p').shows('this event has no process');
  await press('e').shows('message.completed');
  await expectHides('turn.*');
});

test('The page finds a text, and shows a whole event.', async () => {
  const { client, id } = await withSession(server());
  await runTurn(client, id, 'say a needle');
  await runTurn(client, id, 'say hay');
  const { expectShows, press, lines } = testScreen(client, start);
  await expectShows(/message\.completed +hay/);
  await press('/', 'needle', keys.enter).shows(/"needle": \d of \d in all \d+ rows/);
  expect(lines().find((line) => line.startsWith('>'))).toContain('needle');
  await press(keys.enter).shows('"kind": "message.completed"');
  await expectShows(/^a needle$/m);
  await press(keys.end).shows('"text": "a needle"');
  await press(keys.right).hides('a needle"');
  await press(keys.escape).hides('"kind"');
  await press(keys.escape).hides('"needle"');
});

test('The page declines a pending approval with a reason.', async () => {
  const { client, id } = await withSession(testDemo(), { permission_mode: 'require_approval' });
  const { expectShows, press } = testScreen(client, start);
  await expectShows('live');
  await send(client, id, 'ask rm -rf build');
  await expectShows(/approval .*rm -rf build/);
  await press('d').shows('Reason (optional, ⏎ declines):');
  await press('not mine', keys.enter).shows('Declined "rm -rf build": not mine');
  const [approval] = await client.call(endpoints.listApprovals, {
    query: { status: 'declined' },
  });
  expect(approval).toMatchObject({ decision: 'decline', reason: 'not mine' });
});

test('The page reports the decision if another client answers an approval first.', async () => {
  const { client, id } = await withSession(testDemo(), { permission_mode: 'require_approval' });
  await send(client, id, 'ask push it');
  const { expectShows, expectHides, press } = testScreen(client, start);
  await expectShows(/approval .*push it/);
  await press('a').shows('⏎ approve');
  const [{ id: approval_id } = { id: '' }] = await client.call(endpoints.listApprovals, {});
  const params = { session_id: id, approval_id };
  await client.call(endpoints.decideApproval, { params, body: { decision: 'decline' } });
  await expectShows('"push it" was declined by another client');
  await expectHides('⏎ approve');
  await press(keys.enter).hides('a approve');
  const [approval] = await client.call(endpoints.listApprovals, {
    query: { status: 'declined' },
  });
  expect(approval?.id).toBe(approval_id);
});

test('The page fits 40 columns and other sizes, also with wide characters.', async () => {
  const { client, id } = await withSession(server());
  await runTurn(client, id, `say ${'漢字 🎉 '.repeat(20)}`);
  const size = { rows: 8, columns: 40 };
  const { expectShows, lines, resize } = testScreen(client, start, size);
  await expectShows('turn.completed');
  await expectShows('漢');
  expect(lines()).toHaveLength(8);
  for (const line of lines()) expect(cellsOf(line)).toBeLessThanOrEqual(40);
  resize({ rows: 5, columns: 72 });
  await expectShows('seq ');
  await expectShows(id.slice(-8));
  expect(lines()).toHaveLength(5);
});

test('The page shows the reason if the server refuses its scope.', async () => {
  const { client } = server();
  const scope = { sessionId: 'sess_unknown' };
  const { expectShows } = testScreen(client, { page: 'tail', scope });
  await expectShows(/refused/);
  await expectShows('session "sess_unknown" not found');
});

test('The page shows a gap if the log has no event after its position.', async () => {
  const { client } = await withSession(server());
  const beyond = { page: 'tail', scope: {}, after: 1_000_000 } as const;
  const { expectShows } = testScreen(client, beyond);
  await expectShows(/gap: event 1000000 is past the end of the log \(\d+\)/);
});

async function demoWithLog(length: number) {
  const directory = testDirectory();
  await writeLog(
    directory,
    Array.from({ length }, () => shortEvent),
  );
  return testDemo({ directory });
}

test('The page reads older events when the cursor reaches the top.', async () => {
  const { client } = await demoWithLog(510);
  const { expectShows, press } = testScreen(client, start);
  await expectShows('runtime.started');
  await press(keys.home).shows(/all 512 rows/);
  await press(keys.home).shows(/> +1 .*plan\.updated/);
});

test('The page keeps 5,000 rows: the oldest while a user looks at them, and the newest at the end of the log.', async () => {
  const { client } = await demoWithLog(5600);
  const { expectShows, expectHides, press } = testScreen(client, start);
  await expectShows('500 loaded rows');
  for (let rows = 1000; rows <= 5000; rows += 500) {
    await press(keys.home).shows(`${rows} loaded rows`);
  }
  await press(keys.home).shows(/^> +\d+ .*plan\.updated/m);
  await expectHides('runtime.started');
  await press(keys.end).shows('runtime.started');
  await expectShows('500 loaded rows');
});

test('The page reconnects after a restart of the server, and misses no event.', async () => {
  const port = await keptPort();
  const first = await testServer({ args: ['--port', String(port)] });
  const { directory } = first;
  const { expectShows, expectHides } = testScreen(first.client, start);
  await expectShows('live');
  await first.end('SIGTERM');
  await expectShows(/reconnecting \(\d+s\)/);
  const second = await testDemo({ directory, port });
  await expectHides('reconnecting');
  await expectShows('runtime.stopping');
  await openSession(second.client, directory, { title: 'the next life' });
  await expectShows('the next life');
});

test('The page says that the server is restarting while another server takes over.', async () => {
  const port = await keptPort();
  const first = await testServer({ args: ['--port', String(port)] });
  const { directory } = first;
  const { expectShows, expectHides } = testScreen(first.client, start);
  await expectShows('live');
  await first.end('SIGUSR2');
  await expectShows(/server restarting \(\d+s\)/);
  await testDemo({ directory, port });
  await expectHides('restarting');
});

/** Returns the width of a line in cells of a terminal, for the characters of this test. */
function cellsOf(line: string): number {
  return line.replaceAll(/[漢字]/g, '  ').length; // 🎉 is two units already
}
