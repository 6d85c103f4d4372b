import { createInterface } from 'node:readline/promises';
import { withJobControl } from './job-control.ts';
import type { World } from './world.ts';

/** Asks a question that is answered with yes or no. Resolves with false for anything but `y` and `yes`. */
export async function askYes(
  { stdin, stderr }: Pick<World, 'stdin' | 'stderr'>,
  question: string,
): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  if (lines.terminal) withJobControl(lines, stdin as NodeJS.ReadStream);
  try {
    return /^y(es)?$/i.test((await lines.question(question)).trim());
  } finally {
    lines.close();
  }
}
