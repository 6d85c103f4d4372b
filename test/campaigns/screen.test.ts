import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { numbered } from '../support/diffs.ts';
import { testServer } from '../support/server.ts';
import type { TerminalEmulator } from '../support/tui/terminal-emulator.ts';
import { openSession, runTurn } from '../support/turns.ts';
import { hasPty, runInTerminal } from '../support/tui/pty.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { makeRepository, write } from '../support/worktrees/work.ts';

const deltas = Number(process.env.SCREEN_DELTAS ?? 3000);
const idleSeconds = Number(process.env.SCREEN_IDLE_SECONDS ?? 2);

// Bytes that the screen sends to a terminal, which may be at the other end of a slow line. `make screen` takes longer.
describe.skipIf(!hasPty)('the screen', () => {
  test.each([
    { rows: 24, columns: 80 },
    { rows: 60, columns: 200 },
  ])(
    'The screen at $columns x $rows draws at most 20 frames per second during a flood, and writes nothing when idle.',
    async (size) => {
      const { client, directory } = await testServer();
      const { id } = await openSession(client, directory, { title: 'the flood' });
      await using terminal = runInTerminal(directory, ['top'], {}, size);
      const { emulator, expectShows, type, ended } = terminal;
      await expectShows('the flood');
      await type('\r').shows('No messages yet');
      const before = emulator.written.length;
      const [frames, began] = [emulator.frames, performance.now()];
      await runTurn(client, id, `flood ${deltas} 20`);
      await expectShows(String(deltas - 1));
      const seconds = (performance.now() - began) / 1000;
      expect(emulator.frames - frames).toBeLessThanOrEqual(20 * seconds + 3);
      const written = emulator.written.length - before;
      // A larger screen takes more, and no more than in proportion.
      const share = Math.max(1, (size.rows * size.columns) / (24 * 80));
      expect(written).toBeLessThanOrEqual(20_000 * share);
      await expectIdle(emulator);
      type('\u0003');
      expect((await ended).code).toBe(130);
    },
  );

  test('The screen writes nothing while marks or a dialog are shown and nothing changes.', async () => {
    const { client, directory } = await testServer();
    const repo = makeRepository(path.join(directory, 'repo'));
    const { cwd } = await openSession(client, repo, { title: 'the job', worktree: true });
    write(cwd, { 'new.txt': numbered(1, 40) });
    const size = { rows: 60, columns: 200 };
    await using terminal = runInTerminal(directory, ['top'], {}, size);
    const { emulator, expectShows, type, until } = terminal;
    await expectShows('the job');
    for (const [keys, shown] of [
      [':', 'tab complete'],
      [' ', '1 marked'],
      ['?G', 'Enter; Ctrl and S'],
      ['M', 's squash'],
      ['D', 't unified'],
    ] as const) {
      for (const key of keys) type(key);
      await expectShows(shown);
      await expectIdle(emulator);
      type('\u001B');
      await until(() => !emulator.text().includes(shown));
    }
  });
});

/** Waits until the screen is still, and expects that it writes nothing from then on. */
async function expectIdle(emulator: TerminalEmulator): Promise<void> {
  await untilStill(() => emulator.written.length);
  const still = emulator.written.length;
  await pause(idleSeconds * 1000);
  expect(emulator.written.length).toBe(still);
}

/** Waits until a number has not changed for a second and a half: what was shown counts as seen by then. */
async function untilStill(look: () => number): Promise<void> {
  let [before, since] = [look(), performance.now()];
  await expectEventually(() => {
    if (look() !== before) [before, since] = [look(), performance.now()];
    return performance.now() - since > 1500;
  }).toBe(true);
}
