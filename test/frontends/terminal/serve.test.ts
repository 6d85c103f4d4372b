import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { type Client, HttpClient } from '../../../src/client/client.ts';
import { findRegistration } from '../../../src/core/config/registration.ts';
import { readToken } from '../../../src/core/config/token.ts';
import { runCadre } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { untilNothingCarries } from '../../support/server.ts';
import { hasPty, runInTerminal, type TerminalProcess } from '../../support/tui/pty.ts';
import { tempDirectory } from '../../support/temp.ts';

/** Runs a server in a terminal, until the test is over. */
async function serving(
  args: string[],
  use: (terminal: TerminalProcess, client: Client) => Promise<void>,
): Promise<void> {
  await using place = tempDirectory('serve');
  const directory = path.join(place.path, 'data');
  mkdirSync(directory);
  {
    await using terminal = runInTerminal(directory, ['serve', '--demo', '--port', '0', ...args]);
    await terminal.expectShows('listens on');
    const found = findRegistration(directory)?.server;
    const token = readToken(found?.token_file ?? '');
    const client = new HttpClient({ url: found?.url ?? '', token });
    try {
      await use(terminal, client);
    } finally {
      client.close();
    }
  }
  await untilNothingCarries(directory);
}

describe.skipIf(!hasPty)('serve on a terminal', () => {
  test('The command serve shows a banner instead of its log, and the first Ctrl-C shows the running work.', () =>
    serving([], async (terminal, client) => {
      await terminal.expectShows('(all with --log-level info)');
      expect(terminal.emulator.text()).not.toMatch(/info .*ready/);
      const session = await client.call(endpoints.createSession, { body: { provider: 'acp' } });
      await client.call(endpoints.sendTurn, {
        params: { session_id: session.id },
        body: { input: { type: 'text', text: 'say working; wait 100000' } },
      });
      await client.call(endpoints.createProcess, { body: { command: 'sleep 1000' } });
      // A stop does not wait for a turn whose agent is still starting, so the agent sends a text first.
      const work = async () => {
        const kind = ['process.started', 'message.delta'];
        const events = await client.call(endpoints.replayEvents, { query: { kind } });
        return events.map((event) => event.kind).toSorted();
      };
      await expectEventually(work).toEqual(['message.delta', 'process.started']);
      await terminal.type('\u0003').shows('press Ctrl-C again to stop at once');
      await terminal.expectShows(/waiting up to \d+s for 1 turn\n +stopping 1 process/);
      terminal.type('\u0003');
      expect((await terminal.ended).code).toBe(0);
    }));

  test('The command serve shows its log if a level is given.', () =>
    serving(['--log-level', 'info'], async (terminal) => {
      await terminal.expectShows('info  ready');
      expect(terminal.emulator.text()).not.toContain('shows all');
      terminal.type('\u0003');
      expect((await terminal.ended).code).toBe(0);
    }));
});

test('The command serve accepts the level fatal, and fails if it cannot create its directory.', async () => {
  await using place = tempDirectory('serve');
  const args = ['serve', '--log-level', 'fatal', '--data-dir', '/proc/nope'];
  const { code, stderr } = await runCadre(place.path, args);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^cadre: cannot use the data directory \/proc\/nope .*--data-dir\n$/),
  ]);
  expect(existsSync('/proc/nope')).toBe(false);
});
