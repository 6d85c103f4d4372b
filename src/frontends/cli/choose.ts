import { usageError } from '../../api/errors.ts';
import { createInterface } from 'node:readline/promises';
import { withJobControl } from './job-control.ts';
import type { World } from './world.ts';

/**
 * Asks on the terminal for the number of a choice, and asks again after any other answer. Returns null for Ctrl-D, and
 * if stdin or stderr is not a terminal.
 */
export async function choose<T>(
  { stdin, stderr }: World,
  question: string,
  things: readonly T[],
  lineOf: (thing: T) => string,
): Promise<T | null> {
  if (!stdin.isTTY || !stderr.isTTY) return null;
  stderr.write(`${question}\n`);
  for (const [at, thing] of things.entries()) stderr.write(`  ${at + 1}  ${lineOf(thing)}\n`);
  const lines = createInterface({
    input: stdin,
    output: stderr,
    prompt: `1 to ${things.length}: `,
  });
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  withJobControl(lines, stdin as NodeJS.ReadStream);
  try {
    lines.prompt();
    for await (const line of lines) {
      const thing = /^\d+$/.test(line.trim()) ? things[Number(line) - 1] : undefined;
      if (thing !== undefined) return thing;
      lines.prompt();
    }
    return null;
  } finally {
    lines.close();
  }
}

/** Asks whether to do what cannot be taken back. Throws `usage` for any answer but `yes`, and without a terminal. */
export async function confirmChoice(
  world: World,
  question: string,
  [yes, no]: readonly [yes: string, no: string],
  refusal: string,
): Promise<void> {
  const answer = await choose(world, question, [yes, no], (one) => one);
  if (answer === yes) return;
  throw usageError(answer === null ? 'not a terminal: pass --yes to confirm' : refusal);
}

/**
 * Asks a question that is answered with yes or no. Resolves with false for anything but `y` and `yes`, and with
 * `byDefault` for an empty line.
 */
export async function askYes(
  { stdin, stderr }: Pick<World, 'stdin' | 'stderr'>,
  question: string,
  byDefault = false,
): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  if (lines.terminal) withJobControl(lines, stdin as NodeJS.ReadStream);
  try {
    const answer = (await lines.question(question)).trim();
    return answer === '' ? byDefault : /^y(es)?$/i.test(answer);
  } finally {
    lines.close();
  }
}
