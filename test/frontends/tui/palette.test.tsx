import { expect, test } from 'vitest';
import { type ActionName, defaultKeys } from '../../../src/core/lib/screen-actions.ts';
import { KeyBindings, wordsOf } from '../../../src/frontends/tui/screen/key-bindings.ts';
import { testDemo } from '../../support/demo-server.ts';
import { keys, testScreen } from './test-screen.tsx';
import { openSession, withSession } from '../../support/turns.ts';

const start = { page: 'top' } as const;

test('The command palette lists every action of the help with its key.', async () => {
  const { client } = await withSession(testDemo(), { title: 'the job' });
  const { expectShows, press, lines } = testScreen(client, start, { rows: 60, columns: 120 });
  await expectShows('▌○  the job');
  await press(':').shows('↑ ↓ select  tab complete');
  const shown = lines().map((line) => line.replace('▌', ' '));
  const names = Object.keys(defaultKeys) as ActionName[];
  for (const name of names.filter((one) => one !== 'palette')) {
    const entry = ` ${new KeyBindings().label(name).padEnd(9)}${wordsOf(name)}`;
    expect(shown.filter((line) => line.startsWith(entry))).toHaveLength(1);
  }
});

test('The command palette completes an action with Tab and runs it with Enter.', async () => {
  const { client } = await withSession(testDemo(), { title: 'the job' });
  const { expectShows, press } = testScreen(client, start);
  await expectShows('▌○  the job');
  await press(':', 'ren').shows(/▌R +rename +Rename a session/);
  await press(keys.tab).shows(': rename');
  await press(keys.enter).shows('New title (⏎ save): the job');
  await press(keys.escape).hides('New title');
  await press(':', 'show').shows(/▌1 +show needs you/);
  await press(keys.down, keys.down, keys.down).shows(/▌4 +show ended/);
  await press(keys.enter).shows('No rows here: press 5');
  await press(':', keys.escape).hides('tab complete');
});

test('Arrow keys that arrive at once each move the choice of the command palette.', async () => {
  const { client } = await withSession(testDemo(), { title: 'the job' });
  const { expectShows, press } = testScreen(client, start);
  await expectShows('▌○  the job');
  await press(':', 'show').shows(': show');
  await press(keys.down + keys.down + keys.down).shows(/▌4 +show ended/);
  await press(keys.up + keys.up).shows(/▌2 +show running/);
});

test('The command palette goes to a session by its title, whatever the list shows.', async () => {
  const { client, directory } = await testDemo();
  for (const title of ['first job', 'second job', 'third job'])
    await openSession(client, directory, { title });
  const { expectShows, press } = testScreen(client, start);
  await expectShows('▌○  third job');
  await press('/', 'third', keys.enter);
  await press(':', 'FIRST').shows(/▌session +first job/);
  await press(keys.enter).shows('▌○  first job');
  await expectShows('t expand tools');
});

test('The command palette says that nothing matches, and stays open.', async () => {
  const { client } = await withSession(testDemo(), { title: 'the job' });
  const { expectShows, press } = testScreen(client, start);
  await expectShows('▌○  the job');
  await press(':', 'frobnicate').shows('No action and no row matches "frobnicate"');
  await press(keys.enter, keys.tab).shows('No action and no row matches "frobnicate"');
  await press('\u0015', 'server', keys.enter).shows(/status +ok/);
});
