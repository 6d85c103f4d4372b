import { spawn } from 'node:child_process';
import fs from 'node:fs';

interface Detached {
  cwd: string;
  file: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** File to which its output is appended. Only its user can read the file. */
  log: string;
}

/**
 * Starts a program that outlives this one, without a terminal. Nobody ends the program: it is for the server itself.
 * Resolves with its exit code once it has ended, null if a signal ended it.
 */
export function startDetached({ file, args, env, log, cwd }: Detached): Promise<number | null> {
  const output = fs.openSync(log, 'a', 0o600);
  const ended = Promise.withResolvers<number | null>();
  const child = spawn(file, args, { detached: true, stdio: ['ignore', output, output], env, cwd });
  fs.closeSync(output);
  child.once('exit', ended.resolve);
  child.once('error', ended.reject);
  child.unref();
  return ended.promise;
}
