import { describe, expect, test } from 'vitest';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { sharedRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider } from '../../support/scripted-provider.ts';
import { hasPty, runInTerminal, runProgramInTerminal } from '../../support/tui/pty.ts';
import { keys, testScreen } from './test-screen.tsx';
import { openSession, send } from '../../support/turns.ts';

const provider = scriptedProvider({});
const withRuntime = sharedRuntime({ providers: [provider] });
const start = { page: 'top' } as const;

/** The report of a terminal, at a column and a line from 1. */
const report = (button: number, column: number, line: number, end = 'M') =>
  `\u001b[<${button};${column};${line}${end}`;
const click = (column: number, line: number) =>
  report(0, column, line) + report(0, column, line, 'm');
const wheelUp = (column: number, line: number) => report(64, column, line);
const wheelDown = (column: number, line: number) => report(65, column, line);

test('A click selects a row and folds a section, and the wheel moves the selection in the list.', async () => {
  const { client, directory } = withRuntime();
  await openSession(client, directory, { title: 'the first' });
  await openSession(client, directory, { title: 'the second' });
  const { expectShows, expectHides, press, lines } = testScreen(client, start);
  await expectShows('the first');
  await expectShows('the second');
  const lineOf = (text: string) =>
    lines().findIndex((line) => line.slice(0, 40).includes(text)) + 1;
  for (const title of ['the first', 'the second', 'the first']) {
    await press(click(10, lineOf(title))).shows(new RegExp(`^▌○ +${title}`, 'm'));
  }
  const other = lineOf('the first') < lineOf('the second') ? wheelDown : wheelUp;
  await press(other(10, 10)).shows(/^▌○ +the second/m);
  await press(click(5, lineOf('SESSIONS'))).shows(/▌▸ SESSIONS/);
  await expectHides('the first');
  await press(click(5, lineOf('SESSIONS'))).shows('the first');
});

test('Over the pane, the wheel scrolls the conversation, and a click gives it the keys.', async () => {
  const { client, directory } = withRuntime();
  const { id } = await openSession(client, directory, { title: 'the long one' });
  await send(client, id, 'count');
  const turn = await provider.nextTurn();
  const text = Array.from({ length: 60 }, (_, at) => `line ${at + 1}\n\n`).join('');
  await turn.sink.update({ type: 'message', text });
  turn.end(completed);
  const { expectShows, press } = testScreen(client, { ...start, select: id });
  await expectShows('line 60');
  await press(wheelUp(80, 10), wheelUp(80, 10)).shows('more below (G)');
  await press(wheelDown(80, 10), wheelDown(80, 10)).shows('line 60');
  await expectShows('? help  q quit');
  await press(click(80, 10)).shows('esc back');
  await press(click(10, 4), 'i', 'h', wheelUp(80, 10), click(10, 4)).shows('more below (G)');
  await expectShows('> h');
  await press(keys.escape);
});

test('In a dialog the wheel is as the arrow keys, and no report of a mouse is typed anywhere.', async () => {
  const { client, directory } = withRuntime();
  await openSession(client, directory, { title: 'the job' });
  const { expectShows, press } = testScreen(client, start);
  await expectShows('the job');
  await press('?').shows('Previous row, next row');
  await press(wheelDown(10, 10)).hides('Previous row, next row');
  await press('q', '/', report(2, 3, 3), report(35, 3, 3), click(3, 19), 'x').shows(/^\/ x$/m);
});

const crashing = 'process.on("SIGUSR2",()=>{throw new Error("crashed")})';

// Without Python there is no terminal to test in; on Debian: apt-get install python3.
describe.skipIf(!hasPty)('the reports of the mouse', () => {
  const env = { CADRE_SCREEN_MOUSE: 'true' };

  test('The reports of the mouse are off by default.', async () => {
    const { directory } = withRuntime();
    await using terminal = runInTerminal(directory, ['top']);
    await terminal.expectShows(/live$/m);
    expect(terminal.emulator.hasMouse).toBe(false);
    terminal.type('q');
    await terminal.ended;
  });

  test.for(['q', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const)(
    'The reports of the mouse are on while the screen is open, and off after %s.',
    async (end) => {
      const { directory } = withRuntime();
      const preload = `--import=data:text/javascript,${encodeURIComponent(crashing)}`;
      await using terminal = runInTerminal(directory, ['top'], { ...env, NODE_OPTIONS: preload });
      const { emulator, expectShows, type, signal, ended } = terminal;
      await expectShows(/live$/m);
      expect(emulator.hasMouse).toBe(true);
      if (end === 'q') type('q');
      else signal(end);
      await ended;
      expect(emulator).toMatchObject({ hasMouse: false, wraps: true });
    },
  );

  test('The reports of the mouse are off while the screen is suspended, and on again afterwards.', async () => {
    const { client, directory } = withRuntime();
    await openSession(client, directory, { title: 'the job' });
    const { file, args } = selfCommand();
    const words = [file, ...args, '--data-dir', directory, 'top'].map((word) => `'${word}'`);
    await using shell = runProgramInTerminal(directory, ['/bin/sh', '-i'], env);
    const { emulator, expectShows, type, ended } = shell;
    await expectShows(/[#$]$/);
    await type(`${words.join(' ')}\n`).shows(/live$/m);
    expect(emulator.hasMouse).toBe(true);
    await type('\u001a').shows(/Stopped[^]*[#$]$/);
    expect(emulator.hasMouse).toBe(false);
    await type('fg\n').shows('the job');
    expect(emulator.hasMouse).toBe(true);
    await type('q').shows(/[#$]$/);
    type('exit\n');
    await ended;
  });
});
