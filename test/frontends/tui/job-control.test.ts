import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { atLength } from '../../support/at-length.ts';
import { completed, scriptedProvider } from '../../support/scripted-provider.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { tempDirectory } from '../../support/temp.ts';
import { sharedRuntime } from '../../support/runtime.ts';
import { openSession } from '../../support/turns.ts';
import { makeRepository, write } from '../../support/worktrees/work.ts';
import { hasPty, runInTerminal, runProgramInTerminal } from '../../support/tui/pty.ts';

const CTRL_Z = '\u001a';

/** The prompt of the shell, for root and other users, without typed text. */
const prompt = /[#$]$/;

const question = {
  header: null,
  options: [],
  free: false,
  multiple: false,
  required: true,
  type: 'text' as const,
};
const option = (label: string, description: string | null = null) => ({ label, description });
const questions = [
  {
    ...question,
    id: 'colour',
    header: 'The paint',
    question: 'Which colour?',
    options: [option('red', 'as blood'), option('blue')],
  },
  {
    ...question,
    id: 'sizes',
    question: 'Which sizes?',
    multiple: true,
    options: [option('small'), option('large')],
  },
  { ...question, id: 'name', question: 'Which name?', free: true },
];

// Without Python there is no terminal to test in; on Debian: apt-get install python3.
describe.skipIf(!hasPty)('the screen in a terminal', () => {
  const provider = scriptedProvider({ capabilities: { approvals: true } });
  const withRuntime = sharedRuntime({ providers: [provider] });

  test('Ctrl-Z gives the terminal back to the shell, and fg comes back to the same screen.', async () => {
    const { client, directory } = withRuntime();
    await openSession(client, directory, { title: 'the job' });
    const { file, args } = selfCommand();
    const words = [file, ...args, '--data-dir', directory, 'top'].map((word) => `'${word}'`);
    const shell = runProgramInTerminal(directory, ['/bin/sh', '-i']);
    await using _shell = shell;
    const { emulator, expectShows, type } = shell;
    await expectShows(prompt);
    await type(`${words.join(' ')}\n`).shows('▌○  the job');
    expect(emulator).toMatchObject({ isAlternate: true, hasCursor: false, wraps: false });
    await expectShows(/live$/m);
    await expectShows(/No messages yet[^]*o prompts/);
    const before = emulator.text();
    await type(CTRL_Z).shows(/Stopped[^]*[#$]$/);
    expect(emulator).toMatchObject({ isAlternate: false, hasCursor: true, wraps: true });
    // The terminal echoes typed text again, and reads it line by line.
    await type('stty -a\n').shows(/ icanon[^]* echo /);
    await type('fg\n').shows('▌○  the job');
    expect(emulator).toMatchObject({ isAlternate: true, hasCursor: false, wraps: false });
    // A frame arrives in pieces.
    await expectEventually(() => emulator.text()).toBe(before);
    await type('?').shows('Previous row, next row');
    await type('q').shows('▌○  the job');
    await type('q').shows(prompt);
    await type('exit\n').ends(0);
  });

  test('An editor that is opened for a review has the terminal and all its keys, and the screen comes back whole.', async () => {
    const { client, directory } = withRuntime();
    const repo = makeRepository(path.join(directory, 'reviewed'));
    const { id } = await openSession(client, repo, { title: 'reviewed' });
    write(repo, { 'new.txt': 'one\ntwo\n' });
    const editor = path.join(directory, 'editor.sh');
    // The editor reads the typed lines one by one, and writes a comment after the last one.
    const lines = atLength(6, 30, 30);
    const script = `i=0; while [ $i -lt ${lines} ]; do i=$((i+1)); echo "line $i?"; read -r said; done; sed -i "s/^+one$/+one\\n# $said/" "$1"`;
    writeFileSync(editor, script);
    const env = { EDITOR: `sh ${editor}` };
    await using terminal = runInTerminal(directory, ['--select', id], env, {
      rows: 24,
      columns: 80,
    });
    const { expectShows, emulator, type } = terminal;
    await expectShows('▌○  reviewed');
    await type('D').shows('1/1 new.txt');
    type('e');
    for (let i = 1; i <= lines; i++) {
      await expectShows(`line ${i}?`);
      type(`qq said ${i}\n`);
    }
    await expectShows(`┃ qq said ${lines}`);
    expect(emulator).toMatchObject({ isAlternate: true, hasCursor: false, wraps: false });
    await type('jjj').shows(/▌.*\+one|▌.*qq said/);
    await type('\u0003').ends(130);
  });

  test('A shell and an editor open in the directory of a session, and the screen comes back whole.', async () => {
    const { client, directory } = withRuntime();
    const place = path.join(directory, 'place');
    mkdirSync(place);
    const { id } = await openSession(client, place, { title: 'the job' });
    const env = { SHELL: '/bin/sh', EDITOR: 'sh -c \'echo "edits $1 in $PWD"; read -r said\'' };
    await using terminal = runInTerminal(directory, ['--select', id], env);
    const { expectShows, emulator, type } = terminal;
    await expectShows('▌○  the job');
    await type('!').shows('exit returns to the screen');
    expect(emulator).toMatchObject({ isAlternate: false, hasCursor: true, wraps: true });
    await type('echo q > typed; pwd; exit 3\n').shows('▌○  the job');
    expect(emulator).toMatchObject({ isAlternate: true, hasCursor: false, wraps: false });
    expect(readFileSync(path.join(place, 'typed'), 'utf8')).toBe('q\n');
    await type('O').shows(/edits [^]*place/);
    await type('\n').shows('▌○  the job');
    rmSync(place, { recursive: true });
    await type('!').shows(/the directory [^]*place does not exist/);
    await type('?').shows('Previous row, next row');
    await type('\u0003').ends(130);
  });

  test('No shell opens for a session of a server that is not the one of this machine.', async () => {
    const { client, directory, url, token } = withRuntime();
    await openSession(client, directory, { title: 'the job' });
    await using other = tempDirectory();
    const env = { SHELL: '/bin/sh', CADRE_TOKEN: token };
    await using terminal = runInTerminal(other.path, ['--url', url, 'top'], env);
    const { expectShows, type } = terminal;
    await expectShows('▌○  the job');
    await type('!').shows(/does\s+not\s+run\s+on\s+this\s+machine/);
    await type('?').shows('Previous row, next row');
    await type('q').shows('▌○  the job');
    await type('O').shows(/does\s+not\s+run\s+on\s+this\s+machine/);
    await type('\u0003').ends(130);
  });

  test('The questions of an agent are answered one by one: by number, by several options, by a text.', async () => {
    const { client, directory } = withRuntime();
    await openSession(client, directory, { title: 'asks' });
    await using terminal = runInTerminal(directory, ['top'], {}, { rows: 24, columns: 80 });
    const { expectShows, type } = terminal;
    await expectShows('▌○  asks');
    type('isay\r');
    const turn = await provider.nextTurn();
    const answer = turn.ask({ kind: 'question', title: 'a choice', questions });
    await expectShows(/question: a choice: needs[^]*\na approve {2}d decline/);
    await type('a').shows(/The paint\n[^]*Which colour\?[^]*▌○ 1 red {2}as blood\n ○ 2 blue/);
    await expectShows('1/3  ⏎ next');
    await type('2\r').shows(/Which sizes\?[^]*2\/3 {2}⏎ next {2}space select/);
    await type('1j \r').shows(/Which name\?[^]*Your answer/);
    await type('\r').shows('an answer is required');
    type('Zoë q\r');
    expect(await answer).toMatchObject({
      answers: { colour: ['blue'], sizes: ['small', 'large'], name: ['Zoë q'] },
    });
    turn.end(completed);
    await expectShows('Approved "a choice"');
    type('isay again\r');
    const second = await provider.nextTurn();
    const declined = second.ask({ kind: 'question', title: 'another', questions });
    await expectShows(/question: another: needs[^]*\na approve {2}d decline/);
    await type('a').shows('Which colour?');
    await type('d').shows('Reason (optional, ⏎ declines):');
    type('not now\r');
    expect(await declined).toMatchObject({ decision: 'decline', reason: 'not now' });
    second.end(completed);
    await expectShows('Declined "another"');
    await type('k').shows('i prompt  ⏎ open');
    await type('\u0003').ends(130);
  });
});
