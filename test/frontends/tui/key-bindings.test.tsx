import { expect, test } from 'vitest';
import { defaultKeys } from '../../../src/core/lib/screen-actions.ts';
import { fixedKeys } from '../../../src/core/lib/screen-keys.ts';
import { defaultScreen } from '../../../src/core/lib/screen-settings.ts';
import { listKeys } from '../../../src/frontends/tui/screen/keys.ts';
import { KeyBindings } from '../../../src/frontends/tui/screen/key-bindings.ts';
import type { ScreenState } from '../../../src/frontends/tui/screen/screen-state.ts';
import { testRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { testScreen } from './test-screen.tsx';
import { openSession } from '../../support/turns.ts';

test('Every key of the list belongs to an action that can have another key, or is fixed.', () => {
  const shown = {
    context: { keys: new KeyBindings() },
    view: { choices: [] },
    marks: { items: [] },
  } as unknown as ScreenState;
  const known = new Set([...Object.values(defaultKeys), ...fixedKeys]);
  expect(Object.keys(listKeys(shown)).filter((key) => !known.has(key))).toEqual([]);
});

test('Two actions that swap their keys each have the key of the other one.', () => {
  const done: string[] = [];
  const keys = new KeyBindings({ stop: 'r', restart: 'x', copy: 'ctrl-y' });
  const table = keys.table({
    stop: () => void done.push('stop'),
    restart: () => void done.push('restart'),
    copy: () => void done.push('copy'),
  });
  for (const key of ['r', 'x', 'ctrl y', 'y']) table[key]?.();
  expect(done).toEqual(['stop', 'restart', 'copy']);
  expect([keys.hint('prompt'), keys.hint('stop'), keys.hint('copy')]).toEqual([
    'i prompt',
    'r stop',
    '^Y copy',
  ]);
  expect(keys.help()).toContainEqual(['r r', 'Close the session']);
});

test('A key of the user does what its action does, its usual key does nothing, and the help shows it.', async () => {
  const { client, directory } = await testRuntime({ providers: [scriptedProvider({})] });
  await openSession(client, directory, { title: 'the job' });
  const { expectShows, press, lines } = testScreen(
    client,
    { page: 'top' },
    { rows: 40, columns: 100 },
    { ...defaultScreen, keys: { prompt: 'K', help: 'H', quit: 'Q', rename: 'ctrl-r' } },
  );
  await expectShows('the job');
  await expectShows(/K prompt .*H help {2}Q quit$/);
  await press('R', 'K').shows('Prompt for the job');
  await press('\u001B').hides('Prompt for the job');
  await press('i', '?', 'H').shows(/K +Send a prompt to the session/);
  expect(lines().join('\n')).not.toMatch(/^i +Send/m);
  await press('\u001B').shows('the job');
});

test('A notice without a selected row names the key of the user for a new session.', async () => {
  const { client } = await testRuntime({ providers: [scriptedProvider({})] });
  const { expectShows, press } = testScreen(
    client,
    { page: 'top' },
    { rows: 40, columns: 100 },
    { ...defaultScreen, keys: { new_session: 'N' } },
  );
  await expectShows('press N to open one');
  await press('x').shows('no row is selected: press N to open a session');
});
