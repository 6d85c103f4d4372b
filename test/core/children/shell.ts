import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A shell in its own process group, which prints the pids of its children. Disposing it ends the group. */
export async function startShell(
  script: string,
  env: Record<string, string> = {},
): Promise<{ pid: number; said: number[] } & AsyncDisposable> {
  const child = spawn('/bin/sh', ['-c', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: process.env.PATH ?? '', TMPDIR: process.env.TMPDIR ?? '/tmp', ...env },
  });
  const exited = once(child, 'exit');
  const said = (await firstLine(child)).split(' ').map(Number);
  const pid = child.pid ?? 0;
  return {
    pid,
    said,
    async [Symbol.asyncDispose]() {
      for (const one of [-pid, ...said]) endIfThere(one);
      await exited;
    },
  };
}

function endIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('no stdout');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the shell said nothing');
}
