// The map sends every child through src/children. This one is what the map guards against: a child that
// nobody was told of, so that tests can see it found and ended.
// oxlint-disable-next-line cadre/import-map
import { spawn } from 'node:child_process';
// The agent stands for a foreign program, which makes its ids itself.
// oxlint-disable-next-line eslint/no-restricted-imports
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** What the agent touches besides the protocol and its files, handed in. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  newSessionId(): string;
  /** Writes past the protocol, to where its messages go. */
  writeRaw(text: string): void;
  /** Starts a process that outlives us; resolves with its pid once it runs. */
  startSleeper(ms: number): Promise<number>;
  exit(code: number): never;
}

/** The world of a process whose protocol runs on `stdout`. */
export function realWorld(stdout: Writable): World {
  return {
    env: process.env,
    pid: process.pid,
    newSessionId: () => randomUUID(),
    writeRaw: (text) => void stdout.write(text),
    startSleeper,
    exit: (code) => process.exit(code),
  };
}

async function startSleeper(ms: number): Promise<number> {
  // Detached makes it the leader of a group of its own, which a kill of our group does not reach.
  const child = spawn('sleep', [String(ms / 1000)], { detached: true, stdio: 'ignore' });
  await once(child, 'spawn');
  child.unref();
  return child.pid ?? 0;
}
