import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { send, withSession } from '../../support/turns.ts';
import {
  hasPty,
  runInTerminal,
  type TerminalProcess,
  runProgramInTerminal,
} from '../../support/tui/pty.ts';

const [CTRL_C, CTRL_D, CTRL_Z] = ['\u0003', '\u0004', '\u001a'];
/** The prompt of the shell, for root and other users, without typed text. */
const prompt = /[#$]$/;

/** A shell with job control in which `cadre` is the built command with this data directory. */
async function inShell(
  directory: string,
  test: (shell: TerminalProcess & { line: (text: string) => void }) => Promise<void>,
): Promise<void> {
  const { file, args } = selfCommand();
  const words = [file, ...args, '--data-dir', directory].map((word) => `'${word}'`).join(' ');
  await using shell = runProgramInTerminal(directory, ['/bin/sh', '-i'], { C: words });
  await shell.expectShows(prompt);
  const line = (text: string) => shell.type(`${text}\n`);
  line('cadre() { eval "$C \\"\\$@\\""; }; clear');
  await shell.expectShows(/^\W*[#$]$/);
  await test({ ...shell, line });
  await shell.expectShows(prompt);
  line('exit');
  expect((await shell.ended).terminal).toBe('as it was');
}

/** Stops the job, expects a restored terminal, and continues the job. */
async function stopAndContinue({ type, expectShows, emulator, line }: ShellOfJob): Promise<void> {
  await type(CTRL_Z).shows(/Stopped[^]*[#$]$/);
  expect(emulator.written.lastIndexOf('\u001b[?2004h')).toBeLessThanOrEqual(
    emulator.written.lastIndexOf('\u001b[?2004l'),
  );
  line('stty -a');
  await expectShows(/ icanon[^]* echo [^]*[#$]$/);
  line('fg');
}

type ShellOfJob = Parameters<Parameters<typeof inShell>[1]>[0];

// Without Python there is no terminal to test in; on Debian: apt-get install python3.
describe.skipIf(!hasPty)('Ctrl-Z and fg', () => {
  const server = sharedDemo();

  test('The command attach keeps its line after Ctrl-Z and fg, twice, and sends the line.', async () => {
    const { directory, id } = await withSession(server(), { title: 'the job' });
    await inShell(directory, async (shell) => {
      const { line, type, expectShows, emulator } = shell;
      line(`cadre sessions attach ${id}`);
      await expectShows(/Ctrl-D leaves\n>$/);
      await type('say ha').shows('> say ha');
      for (const _ of [1, 2]) {
        await stopAndContinue(shell);
        await expectShows(/fg\n[^]*\n> say ha$/);
      }
      await expectEventually(
        () =>
          emulator.written.lastIndexOf('\u001b[?2004h') -
          emulator.written.lastIndexOf('\u001b[?2004l'),
      ).toBeGreaterThan(0);
      await type('lf\r').shows(/^half\n>$/m);
      await type(CTRL_D).shows(/attach again with .*\n\W*[#$]$/);
    });
  });

  test('Ctrl-C interrupts the turn of attach also after fg.', async () => {
    const { client, directory, id } = await withSession(server());
    await send(client, id, 'say so far; silent');
    await inShell(directory, async (shell) => {
      const { line, type, expectShows } = shell;
      line(`cadre sessions attach ${id}`);
      await expectShows(/so far\n>$/);
      await stopAndContinue(shell);
      await expectShows(/fg\n[^]*\n>$/);
      await type(CTRL_C).shows('the turn was interrupted');
      await type(CTRL_D).shows(/attach again with .*\n\W*[#$]$/);
    });
  });

  test('Ctrl-Z without a shell that could continue the command changes nothing.', async () => {
    const { directory, id } = await withSession(server());
    await using terminal = runInTerminal(directory, ['sessions', 'attach', id]);
    await terminal.expectShows(/Ctrl-D leaves\n>$/);
    await terminal.type(`${CTRL_Z}say still here\r`).shows(/^still here\n>$/m);
    terminal.type(CTRL_D);
    expect(await terminal.ended).toEqual({ code: 0, terminal: 'as it was' });
  });

  test('A question for an approval, a question of an agent and one for a secret take keys after fg.', async () => {
    const { client, directory } = server();
    await inShell(directory, async (shell) => {
      const { line, type, expectShows } = shell;
      line("cadre run 'ask rm -rf build; question Which port? | 3000 | 8080'");
      await expectShows(/accept\?.*\[y\] once/);
      await stopAndContinue(shell);
      await expectShows(/fg\n[^]*accept\?.*\[y\] once[^\n]*$/);
      await type('y').shows(/a number.*\/n declines, \/l later:$/);
      await stopAndContinue(shell);
      await expectShows(/fg\n[^]*\n.*\/l later:$/);
      await type('2\r').shows(/continue with cadre run .*\n\W*[#$]$/);
      const [{ id, last_turn_id } = { id: '', last_turn_id: '' }] = await client.call(
        endpoints.listSessions,
        { query: { limit: 1 } },
      );
      const params = { session_id: id, turn_id: last_turn_id ?? '' };
      const { text } = await client.call(endpoints.getTurn, { params });
      expect(text).toContain('8080');
      line('cadre providers login claude');
      await expectShows('API key:');
      await stopAndContinue(shell);
      await expectShows(/fg\n[^]*API key:$/);
      await type(CTRL_C).shows(prompt);
    });
  });
});
