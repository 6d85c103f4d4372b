import { spawn } from 'node:child_process';
import fs from 'node:fs';
import type net from 'node:net';

interface Program {
  cwd: string;
  file: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
}

interface Detached extends Program {
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

/**
 * Starts a program that outlives this one, with a connection to this one as its descriptor 3. Throws Error if this process
 * has no free descriptor.
 */
export function startConnected({ file, args, env, cwd }: Program): net.Socket {
  const child = spawn(file, args, {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    env,
    cwd,
  });
  // If no descriptor is free, the child has no streams, although its type says that it has.
  const streams = child.stdio as unknown as readonly (net.Socket | undefined)[] | undefined;
  const connection = streams?.[3];
  child.once('error', () => connection?.destroy());
  if (!connection) throw new Error(`cannot start ${file}: no more files may be opened`);
  child.unref();
  return connection;
}
