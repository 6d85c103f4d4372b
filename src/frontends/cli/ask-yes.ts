import { createInterface } from 'node:readline/promises';
import { withJobControl } from './job-control.ts';
import type { World } from './world.ts';

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
