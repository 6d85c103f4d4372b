import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { openSession } from '../../support/turns.ts';
import { hasPty, runInTerminal } from '../../support/tui/pty.ts';

const demo = sharedDemo();

/** Opens a session with a queued prompt. Returns the ids of both. */
async function withQueuedPrompt() {
  const { client, directory } = demo();
  const { id: session_id } = await openSession(client, directory);
  const { id } = await client.call(endpoints.addToQueue, {
    params: { session_id },
    body: { input: { type: 'text', text: 'later' }, at: Date.now() + 3_600_000 },
  });
  return { session_id, entry_id: id };
}

describe.skipIf(!hasPty)('confirming at the terminal', () => {
  test.for([
    ['Ctrl-D', '\u0004', 'cadre: not confirmed: nothing was changed'],
    ['n', 'n\r', 'cadre: not confirmed: nothing was changed'],
  ] as const)(
    'The answer %s to a question with yes or no changes nothing, and ends with one line and 2.',
    async ([, key, line]) => {
      const { session_id } = await withQueuedPrompt();
      await using terminal = runInTerminal(demo().directory, ['sessions', 'close', session_id]);
      await terminal.expectShows('permanently? [y/N]');
      await terminal.type(key).ends(2);
      expect(terminal.emulator.text()).toContain(line);
      expect(terminal.emulator.written).not.toContain(' at ');
      const { status } = await demo().client.call(endpoints.getSession, { params: { session_id } });
      expect(status).toBe('ready');
    },
  );

  test('Ctrl-C at a question with yes or no ends the command as the signal does, without a message.', async () => {
    const { session_id } = await withQueuedPrompt();
    await using terminal = runInTerminal(demo().directory, ['sessions', 'close', session_id]);
    await terminal.expectShows('permanently? [y/N]');
    terminal.type('\u0003');
    expect(await terminal.ended).toEqual({ code: 256 - 2, terminal: 'as it was' });
    expect(terminal.emulator.written).not.toMatch(/AbortError|cadre:/);
  });

  test('Ctrl-D at a numbered choice keeps the queue entry, and is not reported as a missing terminal.', async () => {
    const { entry_id } = await withQueuedPrompt();
    await using terminal = runInTerminal(demo().directory, ['queue', 'remove', entry_id]);
    await terminal.expectShows('1 to 2:');
    await terminal.type('\u0004').ends(2);
    expect(terminal.emulator.text()).toContain('was not removed, because you did not confirm');
    await demo().client.call(endpoints.getQueueEntry, { params: { entry_id } });
  });
});
