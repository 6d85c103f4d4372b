import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { Question } from '../../../src/api/approvals.ts';
import { readAnswer } from '../../../src/frontends/cli/session/ask-questions.ts';
import { readInput } from '../../../src/frontends/cli/session/prompt.ts';
import type { CommandIo } from '../../../src/frontends/cli/command-io.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const openIo = () => {
  const clock = new ManualClock();
  const stdin = new PassThrough();
  let said = '';
  const stderr = new PassThrough();
  stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  return {
    clock,
    stdin,
    said: () => said,
    io: { clock, stdin, stderr, cwd: () => '/' } as unknown as CommandIo,
  };
};
const noImages = { image: [] };

test('A prompt does not wait for a pipe that stays open and empty, and reports that.', async () => {
  const { io: given, clock, said } = openIo();
  const input = readInput(['hello'], noImages, given);
  clock.advance(3000);
  expect(await input).toEqual([{ type: 'text', text: 'hello' }]);
  expect(said()).toMatch(/no input on stdin for 3 s/);
});

test('A prompt waits for all of a pipe with data, and with - also for an empty one.', async () => {
  const { io: begun, clock, stdin } = openIo();
  const input = readInput(['hello'], noImages, begun);
  const first = once(stdin, 'data');
  stdin.write('first ');
  await first;
  clock.advance(60_000);
  stdin.end('last');
  expect(await input).toEqual([{ type: 'text', text: 'hello\n\nfirst last' }]);
  const slow = openIo();
  const awaited = readInput(['hello', '-'], noImages, slow.io);
  slow.clock.advance(60_000);
  slow.stdin.end('late');
  expect(await awaited).toEqual([{ type: 'text', text: 'hello\n\nlate' }]);
});

test('An empty prompt is refused, and the error names a text that was read as a worktree name.', async () => {
  const { io: given, stdin } = openIo();
  stdin.end();
  const options = { image: [], worktree: 'fix the login' };
  await expect(readInput([], options, given)).rejects.toThrow(
    'no text to send ("fix the login" was read as the name of the worktree: give the text first)',
  );
});

const question = (more: Partial<Question> = {}): Question => ({
  id: 'q',
  question: 'which?',
  header: null,
  options: ['red', 'blue', '3'].map((label) => ({ label, description: null })),
  free: false,
  multiple: false,
  required: true,
  type: 'text',
  ...more,
});

test.for<[string, Partial<Question>, string[] | string]>([
  ['2', {}, ['blue']],
  [' Red ', {}, ['red']],
  // A label takes precedence over a number.
  ['3', {}, ['3']],
  ['4', {}, 'Enter a number from 1 to 3.'],
  ['green', {}, 'Enter a number from 1 to 3.'],
  ['green', { free: true }, ['green']],
  ['1, 2', { multiple: true }, ['red', 'blue']],
  ['1,,green', { multiple: true, free: true }, ['red', 'green']],
  ['', {}, 'An answer is required.'],
  ['', { required: false }, []],
  ['one', { options: [], type: 'integer' }, 'Enter a whole number.'],
  ['1.5', { options: [], type: 'integer' }, 'Enter a whole number.'],
  ['1.5', { options: [], type: 'number' }, ['1.5']],
  ['a, b', { options: [] }, ['a, b']],
])('The line "%s" for the question %o is read as %o.', ([line, more, read]) => {
  expect(readAnswer(line, question(more))).toEqual(read);
});
