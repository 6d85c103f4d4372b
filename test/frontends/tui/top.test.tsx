import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { testDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import { openSession, runTurn, send, withSession } from '../../support/turns.ts';
import { keys, testScreen } from './test-screen.tsx';

const start = { page: 'top' } as const;
const asking = { permission_mode: 'require_approval' };

const run = (client: Client, command: string) =>
  client.call(endpoints.createProcess, { body: { command } });

test('The screen shows the work of each session, and closed sessions in a collapsed section.', async () => {
  const { client, directory } = await testDemo();
  const { expectShows, press } = testScreen(client, start);
  await expectShows('No sessions: press n to open one');
  const { id } = await openSession(client, directory, { title: 'the job' });
  await expectShows(/○ +the job/);
  await send(client, id, 'say so far; tool npm test => ok; silent');
  await expectShows(/◐ +the job/);
  await expectShows('· npm test: ok');
  await press('x').shows('Stop "the job"?  y interrupt turn  x close');
  await press('n');
  await press('x', 'y').shows(/[●○] +the job/);
  await press('x', 'x').shows('▸ ENDED 1');
  await press('i').shows('the section "ended" is collapsed: press → to expand it');
  await press('v').shows(/status +ok/);
  await expectShows(/memory +\d+ MiB/);
  await press(keys.escape).hides('memory');
  await press(keys.right).shows(/· +the job/);
});

test('The screen shows the work of a session that started before the screen.', async () => {
  const { client, id } = await withSession(testDemo(), { title: 'old job' });
  await runTurn(client, id, 'say hello');
  await send(client, id, 'tool look around => found; silent');
  const { expectShows } = testScreen(client, start);
  await expectShows(/◐ +old job/);
  await expectShows('look around');
});

test('The screen sends a prompt, keeps unsent drafts, and shows the answer while it streams.', async () => {
  const { client, directory } = await withSession(testDemo(), { title: 'one' });
  await openSession(client, directory, { title: 'two' });
  const { expectShows, press, paste, lines } = testScreen(client, start);
  await expectShows('▌○  two');
  await press('i').shows('Prompt for two');
  await press('say 漢字 and');
  await press(keys.escape).hides('⏎ send');
  await press('j', 'i').shows('Prompt for one');
  expect(lines().join('\n')).not.toContain('漢字');
  await press(keys.escape).hides('⏎ send');
  await press('k', 'i').shows('say 漢字 and');
  await paste(' more\nsay the second line');
  await expectShows('say the second line');
  await press(keys.enter).hides('⏎ send');
  await expectShows('> say 漢字 and more');
  await expectShows(/^.*│ 漢字 and more/m);
  // The text is on the screen before the turn has ended.
  await expectEventually(() => client.call(endpoints.listSessions, { query: {} })).toMatchObject([
    { title: 'two', status: 'ready' },
    {},
  ]);
});

test('The form of a new session goes to the next field with Enter, and only the button or ^S creates the session.', async () => {
  const { client, directory } = await testDemo();
  const { expectShows, press } = testScreen(client, start);
  await expectShows('press n to open one');
  await press('n').shows('New session');
  await expectShows(/provider +acp/);
  await press('say first', ...Array<string>(3).fill(keys.enter)).shows(
    /▌permission +require_approval: asks you before it acts/,
  );
  await expectShows(
    /● require_approval: asks[^]*○ read_only: only reads;[^]*○ full_access: does everything/,
  );
  await press(keys.left).shows(/permission +full_access ?: does everything without asking/);
  await press(keys.enter, keys.enter, '\u0015', directory);
  await press(keys.enter, keys.enter).shows('New session');
  expect(await client.call(endpoints.listSessions, { query: {} })).toEqual([]);
  await press(keys.enter).hides('New session');
  await expectShows(/▌. +say first/);
  const [opened] = await client.call(endpoints.listSessions, { query: {} });
  expect(opened).toMatchObject({ permission_mode: 'full_access' });
  await press('n');
  // The last choices are there again; only the prompt is new.
  await expectShows(new RegExp(`cwd +${directory.slice(0, 20)}`));
  await press('say again', '\u0013').shows(/▌. +say again/);
});

test('The form of a new session stays open with its fields if the server refuses them.', async () => {
  const { client, directory } = await testDemo();
  const { expectShows, press } = testScreen(client, start);
  await expectShows('press n to open one');
  await press('n').shows('New session');
  await press('say kept', ...Array<string>(5).fill(keys.enter)).shows('▌cwd');
  await press('\u0015', '/nowhere', '\u0013').shows('"/nowhere" does not exist');
  await expectShows(/prompt +say kept/);
  await press('\u0015', directory, '\u0013').shows(/▌. +say kept/);
});

test('A session that opens after its form was left does not close another dialog.', async () => {
  const { client, directory } = await testDemo();
  const gate = Promise.withResolvers<void>();
  const call = client.call.bind(client);
  vi.spyOn(client, 'call').mockImplementation(async (endpoint, ...rest) => {
    if ((endpoint as unknown) === endpoints.createSession) await gate.promise;
    return call(endpoint, ...rest);
  });
  const { expectShows, press } = testScreen(client, start);
  await expectShows('press n to open one');
  await press('n').shows('New session');
  await press(...Array<string>(5).fill(keys.enter)).shows('▌cwd');
  await press('\u0015', directory, '\u0013');
  await press(keys.escape).hides('New session');
  await press('f').shows('Search:');
  gate.resolve();
  await expectEventually(() => call(endpoints.listSessions, { query: {} })).toHaveLength(1);
  await press('some words').shows('Search: some words');
});

test('The form of a new session shows a mode of the agent with its name.', async () => {
  const { client, directory } = await testDemo();
  // The demo agent names its modes once it has opened a session.
  await runTurn(client, (await openSession(client, directory)).id, 'say hi');
  const { expectShows, press } = testScreen(client, start);
  await expectShows('say hi');
  await press('n').shows('New session');
  await press('say first', ...Array<string>(4).fill(keys.enter)).shows('▌mode');
  await press(keys.right).shows(/▌mode +default +Default/);
});

test('The screen shows a whole request before it accepts the request.', async () => {
  const { client, id } = await withSession(testDemo(), { title: 'asks', ...asking });
  await send(client, id, `ask ${Array.from({ length: 60 }, (_, i) => `part${i}`).join(' ')}`);
  const { expectShows, expectHides, press } = testScreen(client, start, {
    rows: 14,
    columns: 60,
  });
  await expectShows('NEEDS APPROVAL 1');
  await press('a').shows(/space \d+ more lines/);
  await press(keys.enter).shows(/cannot approve yet: \d+ more lines below/);
  await press('y');
  expect(await client.call(endpoints.listApprovals, {})).toHaveLength(1);
  await press(keys.end).shows('part59');
  await expectHides('cannot approve yet');
  await press(keys.enter);
  // A long title is cut in the middle.
  await expectShows(/Approved "part0[^]*…[^]*part59"/);
  await expectHides('NEEDS');
});

test('The prompt completes the slash commands of an agent, and the screen shows its notices and title.', async () => {
  const { client, id } = await withSession(testDemo());
  await runTurn(client, id, 'commands planning | testing; notice mind the gap; title My work');
  const { expectShows, press } = testScreen(client, start);
  await expectShows('My work');
  await expectShows('! notice: mind the gap');
  await press('i', '/').shows('tab: /planning anything  /testing anything');
  await press('t', keys.tab).shows('> /testing');
  await press('me', keys.enter).shows(/> \/testing me/);
});

test('The screen kills a running process, and restarts a process that has ended.', async () => {
  const { client } = await testDemo();
  await run(client, 'sleep 60');
  const { expectShows, press } = testScreen(client, start);
  await expectShows('▌◐  sleep 60');
  await press('i').shows('"sleep 60" is not a session');
  await press('x').shows('Kill "sleep 60"?  y yes');
  await press('x').shows('killed, SIGTERM');
  await press('r').shows(/▌◐ +sleep 60/);
  await press('r').shows('Restart "sleep 60"?');
  await press('y').hides('Restart "');
  await expectShows('▌◐');
});

test('The screen pins a session, snoozes it for a time, and wakes it.', async () => {
  const { client, directory, id } = await withSession(testDemo(), { title: 'old' });
  await openSession(client, directory, { title: 'young' });
  const { expectShows, expectHides, press, lines } = testScreen(client, start);
  await expectShows('▌○  young');
  await press('j', 'p').shows('▌○★ old');
  expect(lines().findIndex((line) => line.includes('old'))).toBeLessThan(
    lines().findIndex((line) => line.includes('young')),
  );
  await press('z').shows('Snooze for');
  await press('soon', keys.enter).shows('invalid time "soon"');
  await press('z', '2h', keys.enter).shows('▸ SNOOZED 1');
  await expectHides('★ old');
  const params = { session_id: id };
  const { snoozed_until } = await client.call(endpoints.getSession, { params });
  expect(snoozed_until).toBeGreaterThan(Date.now() + 3_600_000);
  await press(keys.end, keys.enter, 'z').hides('SNOOZED');
  await expectShows('★ old');
});

test('A session that a key selected is seen while the terminal has the focus; otherwise the screen rings.', async () => {
  const { client, id } = await withSession(testDemo(), { title: 'the job' });
  const seen = async () => {
    const { seen_seq, news_seq } = await client.call(endpoints.getSession, {
      params: { session_id: id },
    });
    return seen_seq >= news_seq;
  };
  const { expectShows, press, hasFocus, written } = testScreen(client, start);
  await expectShows('▌○  the job');
  await press(keys.down);
  hasFocus.set(false);
  await runTurn(client, id, 'say done');
  await expectShows('▌●  the job');
  await expectEventually(written).toContain('\u0007\u001B]9;cadre: the job\u0007');
  expect(written().match(/\]9;/g)).toHaveLength(1);
  expect(await seen()).toBe(false);
  hasFocus.set(true);
  await expectShows('▌○  the job');
  expect(await seen()).toBe(true);
});

test('The screen renames a session and mutes it: the list shows both, and no bell rings.', async () => {
  const { client, id } = await withSession(testDemo(), { title: 'old name' });
  const session = () => client.call(endpoints.getSession, { params: { session_id: id } });
  const { expectShows, press, hasFocus, written } = testScreen(client, start);
  await expectShows('▌○  old name');
  await press('R').shows('New title (⏎ save): old name');
  // Fast typing arrives as one chunk.
  await press('\u0015new namx\u007fe\r').shows('▌○  new name');
  expect(await session()).toMatchObject({ title: 'new name' });
  await press('m').shows(/▌○m new name[^]* muted/);
  expect(await session()).toMatchObject({ muted: true });
  hasFocus.set(false);
  await runTurn(client, id, 'say done');
  await expectShows('▌●m new name');
  expect(written()).toBe('');
  await press('m').shows('▌●  new name');
  await runTurn(client, id, 'say more');
  await expectEventually(written).toContain(']9;cadre: new name');
});

test('The form of a new session offers the directories of recent sessions.', async () => {
  const { client, directory } = await testDemo();
  const [one, two] = ['one', 'two'].map((name) => path.join(directory, name));
  for (const cwd of [one, two]) {
    mkdirSync(String(cwd));
    await openSession(client, String(cwd), { title: 'there' });
  }
  const { expectShows, press, lines } = testScreen(client, start);
  await expectShows('SESSIONS 2');
  await press('n', '\u0012').shows(/cwd +\/home\/ada\/project/);
  for (let step = 0; step < 5; step++) await press(keys.tab);
  await expectShows('^R recent');
  const cwd = () => lines().find((line) => line.includes('▌cwd')) ?? '';
  await press('\u0012').shows(/▌cwd .*\/two/);
  await press('\u0012').shows(/▌cwd .*\/one/);
  await press('\u0012').shows(/▌cwd .*\/two/);
  expect(cwd()).toContain(directory);
  await press('\u0013').shows('SESSIONS 3');
  const [made] = await client.call(endpoints.listSessions, { query: { limit: 1 } });
  expect(made?.cwd).toBe(two);
});

test('The list filters while the user types, and keeps its selection after the events of a row.', async () => {
  const { client, directory } = await testDemo();
  for (const title of ['first', 'second', 'third']) await openSession(client, directory, { title });
  const { expectShows, press } = testScreen(client, start);
  await expectShows('SESSIONS 3');
  await press('/', 'sec').hides('third');
  await press(keys.enter).shows('▌○  second');
  await press(keys.escape).shows('third');
  await expectShows('▌○  second');
  await press('e').shows('session.created');
  await press('q').shows('▌○  second');
  await press(keys.tab).shows('nothing needs you');
  await press('y', '1').shows('Copied');
});

test('The next key ends a notice, because the notice hides the keys of the row.', async () => {
  const { client } = await withSession(testDemo(), { title: 'first' });
  const { expectShows, press } = testScreen(client, start);
  await expectShows('i prompt  ⏎ open');
  await press(keys.tab).shows('nothing needs you');
  await press('s').hides('nothing needs you');
  await expectShows('i prompt  ⏎ open');
});

test('The screen starts at the given id.', async () => {
  const { client, directory, id } = await withSession(testDemo(), { title: 'first' });
  await openSession(client, directory, { title: 'second' });
  const selecting = { page: 'top', select: id.slice(-6) } as const;
  const { expectShows } = testScreen(client, selecting);
  await expectShows('▌○  first');
});

test('The help is complete at 40x12, and a smaller terminal is refused.', async () => {
  const { client } = await testDemo();
  const { expectShows, press, resize } = testScreen(client, start, { rows: 12, columns: 40 });
  await expectShows('press n to open one');
  await press('?').shows(/↓ \d+ more/);
  await press(keys.end).shows('Enter; Ctrl and S');
  await press(keys.home).shows('Previous row, next row');
  resize({ rows: 11, columns: 40 });
  await expectShows('Terminal too small: 40x11 (min. 40x12)');
});
