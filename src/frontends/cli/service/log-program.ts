import type { Program } from '../run-program.ts';

/** The program that prints the last lines of a file, and follows it also where it is emptied or replaced. */
export function followedFile(
  file: string,
  lines: number,
  isFollowed: boolean,
  env: NodeJS.ProcessEnv,
): Program {
  return { command: 'tail', args: ['-n', String(lines), ...(isFollowed ? ['-F'] : []), file], env };
}
