import path from 'node:path';
import { text } from 'node:stream/consumers';
import { usageError } from '../../../api/errors.ts';
import { repeatable } from '../command.ts';
import type { CommandIo } from '../command-io.ts';
import type { InputItem } from '../../../api/input.ts';

/** How long to wait for the first byte of stdin: a pipe that no program writes to may stay open for ever. */
const FIRST_BYTE_MS = 3000;

/** The argument and the option of what to say. */
export const promptParameters = [
  '[text...]  Text of the prompt (input from a pipe is appended; - as the last word waits for the end of stdin)',
  repeatable(
    '--image <file>  Image file to send with the prompt (repeat the option for more images)',
  ),
];

/**
 * Reads the prompt: the words, and after a blank line the piped input. A last word `-` reads stdin to its end, without
 * a limit. Otherwise a pipe that sends nothing for 3 s is ignored, with a note. Throws `usage` for an empty prompt.
 */
export async function readInput(
  words: readonly string[],
  { image, worktree }: { image: readonly string[]; worktree?: string | true },
  io: CommandIo,
): Promise<InputItem[]> {
  const isAwaited = words.at(-1) === '-';
  const typed = (isAwaited ? words.slice(0, -1) : words).join(' ');
  const piped = isAwaited ? await text(io.stdin) : await pipedText(io);
  const prompt = [typed, piped].filter((part) => part.trim() !== '').join('\n\n');
  if (prompt === '') {
    const taken =
      typeof worktree === 'string'
        ? ` ("${worktree}" was read as the name of the worktree: give the text first)`
        : '';
    throw usageError(
      `no text to send${taken}: pass the text as an argument, or pass - and send the text on stdin`,
    );
  }
  return [
    { type: 'text', text: prompt },
    // By its absolute path, because the server reads the file and works in another directory.
    ...image.map((file) => ({ type: 'image' as const, path: path.resolve(io.cwd(), file) })),
  ];
}

/** The piped or redirected input; '' if stdin is a terminal. */
async function pipedText({ stdin, stderr, clock }: CommandIo): Promise<string> {
  if (stdin.isTTY) return '';
  const parts: Buffer[] = [];
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  stdin.on('data', (part: Buffer) => {
    parts.push(part);
    begun.resolve();
  });
  stdin.once('end', ended.resolve);
  stdin.once('error', (error) => ended.reject(usageError(`cannot read stdin: ${error.message}`)));
  const noWait = new AbortController();
  const tooLong = clock.sleep(FIRST_BYTE_MS, noWait.signal).then(() => 'silent' as const);
  const first = await Promise.race([begun.promise, ended.promise, tooLong]);
  noWait.abort();
  if (first !== 'silent') await ended.promise;
  else {
    stderr.write(
      'cadre: no input on stdin for 3 s, so stdin is ignored: pass - as the last word to wait for it\n',
    );
    if ('destroy' in stdin) (stdin as NodeJS.ReadStream).destroy();
  }
  return Buffer.concat(parts).toString('utf8');
}
