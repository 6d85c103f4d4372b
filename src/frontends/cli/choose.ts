import { usageError } from '../../api/errors.ts';
import { createInterface } from 'node:readline/promises';
import { answerTo, interruptAtCtrlC, throwIfInterrupted } from './answer-to.ts';
import { withJobControl } from './job-control.ts';
import { canAsk, type CommandIo } from './command-io.ts';

/**
 * Asks on the terminal for the number of a choice, and asks again after any other answer. Returns null for Ctrl-D, and
 * if stdin or stderr is not a terminal.
 */
export async function choose<T>(
  { stdin, stderr }: CommandIo,
  question: string,
  things: readonly T[],
  lineOf: (thing: T) => string,
): Promise<T | null> {
  if (!canAsk({ stdin, stderr })) return null;
  stderr.write(`${question}\n`);
  for (const [at, thing] of things.entries()) stderr.write(`  ${at + 1}  ${lineOf(thing)}\n`);
  const lines = createInterface({
    input: stdin,
    output: stderr,
    prompt: `1 to ${things.length}: `,
  });
  interruptAtCtrlC(lines);
  withJobControl(lines, stdin as NodeJS.ReadStream);
  try {
    lines.prompt();
    for await (const line of lines) {
      const thing = /^\d+$/.test(line.trim()) ? things[Number(line) - 1] : undefined;
      if (thing !== undefined) return thing;
      lines.prompt();
    }
    throwIfInterrupted(lines);
    return null;
  } finally {
    lines.close();
  }
}

/** Asks whether to do what cannot be taken back. Throws `usage` for any answer but `yes`, and without a terminal. */
export async function confirmChoice(
  io: CommandIo,
  question: string,
  [yes, no]: readonly [yes: string, no: string],
  refusal: string,
): Promise<void> {
  const answer = await choose(io, question, [yes, no], (one) => one);
  if (answer === yes) return;
  throw usageError(canAsk(io) ? refusal : 'not a terminal: pass --yes to confirm');
}

/**
 * Asks a question that is answered with yes or no. Resolves with false for anything but `y` and `yes`, also for Ctrl-D, and
 * with `byDefault` for an empty line. Ctrl-C sends SIGINT to this process, and the question rejects with `Interrupted` if the
 * process continues. Rejects if `signal` aborts.
 */
export async function askYes(
  { stdin, stderr }: Pick<CommandIo, 'stdin' | 'stderr'>,
  question: string,
  byDefault = false,
  signal?: AbortSignal,
): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  interruptAtCtrlC(lines);
  if (lines.terminal) withJobControl(lines, stdin as NodeJS.ReadStream);
  try {
    const answer = await answerTo(lines, question, signal);
    if (answer === null) stderr.write('\n');
    return answer?.trim() === '' ? byDefault : /^y(es)?$/i.test(answer?.trim() ?? '');
  } finally {
    lines.close();
  }
}
