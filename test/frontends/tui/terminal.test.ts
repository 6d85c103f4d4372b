import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { noDefaults } from '../../../src/client/defaults.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { openScreen } from '../../../src/frontends/tui/open.tsx';
import { offerServerStart } from '../../../src/frontends/tui/start-offer.tsx';
import { sharedDemo, testDemo } from '../../support/demo-server.ts';
import { atLength } from '../../support/at-length.ts';
import type { TestRuntime } from '../../support/runtime.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession, runTurn, send, withSession } from '../../support/turns.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { hasPty, runInTerminal } from '../../support/tui/pty.ts';

// Without Python there is no terminal to test in; on Debian: apt-get install python3.
describe.skipIf(!hasPty)('the screens of commands on a terminal', () => {
  const server = sharedDemo();
  const withServer = <T>(test: (given: TestRuntime) => Promise<T>) => test(server());

  test('The command events tail opens a screen, which q closes, and restores the terminal.', () =>
    withServer(async ({ client, directory }) => {
      const { id } = await openSession(client, directory);
      await using terminal = runInTerminal(directory, ['events', 'tail']);
      const { emulator, expectShows, type, resize } = terminal;
      await expectShows(/session\.created/);
      await runTurn(client, id, 'say \u001b[31mred\u001b]0;title\u0007');
      await expectShows(/message\.completed +red/);
      expect(emulator.written).not.toContain('\u001b]0;');
      expect(emulator).toMatchObject({ isAlternate: true, hasCursor: false, wraps: false });
      expect(emulator.lines()).toHaveLength(20);
      expect(emulator.lines()[19]).toMatch(/q quit$/);
      resize(10, 60);
      await expectEventually(() => emulator.lines()[9]).toMatch(/q quit$/);
      expect(emulator.lines()).toHaveLength(10);
      await expectShows(/message\.comp/);
      for (const line of emulator.lines()) expect(line.length).toBeLessThanOrEqual(60);
      await type('q').ends(0);
      expect(emulator).toMatchObject({ isAlternate: false, hasCursor: true, wraps: true });
      expect(emulator.unknown).toEqual([]);
      expect(emulator.text()).toBe('');
    }));

  test('The command events tail starts at the given event, and continues at the event of a cursor file.', () =>
    withServer(async ({ client, directory }) => {
      await openSession(client, directory, { title: 'the first' });
      const seen = async (text: string, ...args: string[]) => {
        await using terminal = runInTerminal(directory, ['events', 'tail', ...args]);
        await terminal.expectShows('live');
        await terminal.expectShows(text);
        terminal.type('q');
        expect((await terminal.ended).code).toBe(0);
        return terminal.emulator.before;
      };
      const file = path.join(directory, 'cursor');
      const first = await seen('the first', '--after-seq', '0', '--cursor-file', file);
      expect(first).toContain('runtime.started');
      await openSession(client, directory, { title: 'the second' });
      const second = await seen('the second', '--cursor-file', file);
      expect(second).not.toContain('the first');
    }));

  test('The command top shows the sessions and their events; SIGTERM ends it with 143, and restores the terminal.', async () => {
    const { directory, id } = await withSession(testDemo(), { title: 'the job' });
    await using terminal = runInTerminal(directory, ['top'], { CI: 'true', NO_COLOR: '1' });
    const { expectShows, type, signal, emulator, ended } = terminal;
    await expectShows('the job');
    await type('e').shows(`session "the job" (${id.slice(-8)})`);
    await expectShows('session.created');
    await type('q').shows('SESSIONS 1');
    signal('SIGTERM');
    expect(await ended).toEqual({ code: 143, terminal: 'as it was' });
    expect(emulator.isAlternate).toBe(false);
  });

  test('A flood of two sessions delays no key: Ctrl-C ends the screen with 130, and restores the terminal.', () =>
    withServer(async ({ client, directory }) => {
      await using terminal = runInTerminal(directory, ['events', 'tail']);
      const { emulator, expectShows, type } = terminal;
      await expectShows('live');
      const script = Array.from(
        { length: atLength(100, 200, 200) },
        (_, i) => `tool work ${i} => done`,
      ).join('; ');
      const sessions = await Promise.all(
        Array.from({ length: atLength(2, 5, 5) }, () => openSession(client, directory)),
      );
      await Promise.all(sessions.map(({ id }) => send(client, id, script)));
      await type(' ').shows(/paused, \d+ new/);
      await type(' ').shows(/turn\.completed/);
      await type('\u0003').ends(130);
      expect(emulator.isAlternate).toBe(false);
    }));

  test('A terminal changes nothing without a server, without --follow, and with --json.', async () => {
    await withServer(async ({ directory }) => {
      for (const args of [
        ['events', 'tail', '--no-follow'],
        ['--json', 'top'],
      ]) {
        await using terminal = runInTerminal(directory, args);
        const { emulator, ended } = terminal;
        expect((await ended).code).toBe(0);
        expect(emulator.written).not.toContain('\u001b');
      }
    });
    await using terminal = runInTerminal(testDirectory(), ['--url', 'http://127.0.0.1:9', 'top'], {
      CADRE_TOKEN: 'a token of nobody',
    });
    const { emulator, ended } = terminal;
    expect((await ended).code).toBe(6);
    expect(emulator.written).toMatch(/^cadre: no server answers at [^\u001b]*$/);
  });
});

test('A signal that comes while the screen is loaded closes the screen and the offer of a server.', async () => {
  const { stdin, stdout, env } = process;
  const directory = testDirectory('server');
  const common = { stdin, stdout, env, signal: AbortSignal.abort(143) };
  const screen = { ...common, client: unused, clock: systemClock, defaults: noDefaults };
  expect(await openScreen({ ...screen, start: { page: 'top' } })).toEqual({ interrupted: false });
  const offer = { directory, log: 'log', stopCommand: 'cadre stop', start: unused };
  const end = { isStarted: false, interrupted: false };
  expect(await offerServerStart({ ...common, ...offer })).toEqual(end);
});

const unused = undefined as never;
