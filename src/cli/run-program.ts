import { spawn } from 'node:child_process';
import { AppError } from '../errors.ts';

/** A program that a command runs for its user and waits for. */
export interface Program {
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
}

/** How a program ended, with what it printed where that was read. */
export interface Ended {
  /** Null where a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Gives a program this command's own terminal until it ends. `isQuiet` keeps stdout for the command: what the program
 * prints there goes to stderr. Throws `usage` where it cannot be started.
 */
export function runHere(program: Program, isQuiet: boolean): Promise<Ended> {
  return run(program, ['inherit', isQuiet ? 2 : 'inherit', 'inherit']);
}

/** Runs a program without input and reads what it prints. Throws `usage` where it cannot be started. */
export function runAndRead(program: Program): Promise<Ended> {
  return run(program, ['ignore', 'pipe', 'pipe']);
}

function run(
  { command, args, env }: Program,
  stdio: ('inherit' | 'ignore' | 'pipe' | number)[],
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.setEncoding('utf8').on('data', (text: string) => (texts[name] += text));
    child.once('error', (error) => {
      reject(new AppError('usage', `${command} could not be started: ${error.message}`));
    });
    child.once('close', (code) => resolve({ code, ...texts }));
  });
}
