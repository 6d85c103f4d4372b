import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { usageError } from '../../api/errors.ts';
import { answerTo, interruptAtCtrlC } from './answer-to.ts';
import { withJobControl } from './job-control.ts';
import type { CommandIo } from './command-io.ts';

/** The prompt in an argument, or all of stdin for `-`. Throws `usage` for an empty one. */
export async function readPrompt(argument: string, stdin: NodeJS.ReadableStream): Promise<string> {
  const prompt = argument === '-' ? await text(stdin) : argument;
  if (prompt.trim() !== '') return prompt;
  throw usageError(
    'no text to send: pass the text as an argument, or pass - and send the text on stdin',
  );
}

/** A secret from stdin, so that neither the process list nor a shell's history has it. A terminal does not echo it. */
export async function readSecret(question: string, { stdin, stderr }: CommandIo): Promise<string> {
  const parts = (
    stdin.isTTY ? await askSecretly(question, { stdin, stderr }) : await text(stdin)
  ).trim();
  if (parts !== '') return parts;
  throw usageError(`no ${question} given: pass the ${question} on stdin`);
}

async function askSecretly(
  question: string,
  { stdin, stderr }: Pick<CommandIo, 'stdin' | 'stderr'>,
): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true });
  // The question is shown only now, when the terminal no longer echoes: the user may answer at once.
  stderr.write(`${question}: `);
  interruptAtCtrlC(lines);
  withJobControl(lines, stdin as NodeJS.ReadStream, () => void stderr.write(`${question}: `));
  try {
    return (await answerTo(lines, '')) ?? '';
  } finally {
    lines.close();
    stderr.write('\n');
  }
}
