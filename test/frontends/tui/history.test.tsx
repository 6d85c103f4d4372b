import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { HISTORY_FILE, PromptHistory } from '../../../src/core/lib/prompt-history.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { testDirectory } from '../../support/temp.ts';
import { hasPty, runInTerminal } from '../../support/tui/pty.ts';
import { keys, testScreen } from './test-screen.tsx';
import { withSession } from '../../support/turns.ts';

const CTRL_D = '\u0004';
const CTRL_R = '\u0012';
const server = sharedDemo();

test('The composer of the screen goes through what was sent, searches it, and adds to it.', async () => {
  const home = testDirectory('history');
  const { client, id } = await withSession(server(), { title: 'the talk' });
  const history = new PromptHistory(home);
  for (const text of ['say one', 'say first\nthen second', 'ask']) history.add(text);
  const { expectShows, press } = testScreen(
    client,
    { page: 'top', select: id },
    { rows: 24, columns: 100 },
    undefined,
    history,
  );
  await expectShows('No messages yet');
  await press('i', 'm', keys.up).shows(/> ask/);
  await press(keys.up).shows(/> say first *\n.*then second/);
  await press(keys.up).shows(/> say one/);
  await press(keys.down, keys.down, keys.down, keys.down).shows(/> m/);
  await press('\u0015', 's', 'a', 'y', CTRL_R).shows(/> say first/);
  await press(CTRL_R).shows(/> say one/);
  await press('s', keys.enter).hides('Prompt for the talk');
  expect(new PromptHistory(home).read().at(-1)).toBe('say ones');
  await press('i', keys.up).shows(/> say ones/);
});

// Without Python there is no terminal to test in; on Debian: apt-get install python3.
describe.skipIf(!hasPty)('a prompt', () => {
  test('The prompts of run and attach are in the history of the next attach, by Up and by Ctrl-R.', async () => {
    const { directory, id } = await withSession(server(), { title: 'attached' });
    const file = path.join(directory, HISTORY_FILE);
    fs.rmSync(file, { force: true });
    {
      await using run = runInTerminal(directory, ['run', '--session', id, 'say from run']);
      expect((await run.ended).code).toBe(0);
    }
    {
      await using first = runInTerminal(directory, ['sessions', 'attach', id]);
      await first.expectShows(/Ctrl-D leaves\n>$/);
      await first.type('say from attach\r').shows(/^from attach/m);
      first.type(CTRL_D);
      await first.ended;
    }
    expect(new PromptHistory(directory).read()).toEqual(['say from run', 'say from attach']);
    await using next = runInTerminal(directory, ['sessions', 'attach', id]);
    await next.expectShows(/Ctrl-D leaves\n>$/);
    await next.type('\u001b[A\u001b[A').shows(/> say from run$/);
    await next.type(`\u0015attach${CTRL_R}`).shows(/> say from attach$/);
    next.type(`\u0015${CTRL_D}`);
    await next.ended;
  });

  test('No history is kept if client.history is off.', async () => {
    const { directory, id } = await withSession(server(), { title: 'silent' });
    const before = new PromptHistory(directory).read();
    const env = { CADRE_CLIENT_HISTORY: 'false' };
    await using run = runInTerminal(directory, ['run', '--session', id, 'say nothing kept'], env);
    expect((await run.ended).code).toBe(0);
    expect(new PromptHistory(directory).read()).toEqual(before);
  });
});
