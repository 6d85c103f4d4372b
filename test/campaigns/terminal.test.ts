import { describe, expect, test } from 'vitest';
import { testDemo } from '../support/demo-server.ts';
import { hasPty, runInTerminal } from '../support/tui/pty.ts';

// Which palette an environment gives is tried in the suite, and so is what commands make of it.
describe.skipIf(!hasPty)('the screen on a terminal', () => {
  test('The screen has no colors if NO_COLOR is set.', async () => {
    const { directory } = await testDemo();
    const colored = /\u001b\[(?:3|4|9|10)\d[;\d]*m/;
    for (const env of [{}, { NO_COLOR: '1' }]) {
      await using terminal = runInTerminal(directory, ['events', 'tail'], env);
      const { emulator, expectShows, type, ended } = terminal;
      await expectShows('live');
      type('q');
      await ended;
      expect(colored.test(emulator.written)).toBe(!('NO_COLOR' in env));
    }
  });
});
