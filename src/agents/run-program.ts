import { text } from 'node:stream/consumers';
import type { Supervisor } from '../core/children/supervisor.ts';
import type { Clock } from '../core/lib/clock.ts';

/** How a program of an agent is started. */
export interface ProgramOptions {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  supervisor: Supervisor;
  clock: Clock;
}

/** Runs a command of an agent's program to its end, and kills it after `limitMs`. `code` is null for one that was killed. */
export async function runProgram(
  { command, args, env, supervisor, clock }: ProgramOptions,
  words: readonly string[],
  { what, limitMs }: { what: string; limitMs: number },
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = await supervisor.start({
    command,
    args: [...args, ...words],
    cwd: process.cwd(),
    env,
    what,
    stdin: 'none',
  });
  const limit = clock.after(limitMs, () => void child.end(0));
  try {
    const ended = [text(child.stdout), text(child.stderr), child.exited] as const;
    const [stdout, stderr, { code }] = await Promise.all(ended);
    return { code, stdout, stderr };
  } finally {
    limit[Symbol.dispose]();
    await child.end(0);
  }
}
