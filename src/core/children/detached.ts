import { spawn } from 'node:child_process';
import fs from 'node:fs';

interface Detached {
  /** The directory that it works in. */
  cwd: string;
  file: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** What it prints is appended to this file, which only its user can read. */
  log: string;
}

/**
 * Starts a program that goes on after this one has ended, without a terminal. It is nobody's child then: it is for the
 * server itself, which ends what it starts. Resolves with its exit code once it has ended, null where a signal ended it.
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
