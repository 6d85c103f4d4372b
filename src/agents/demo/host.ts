// The import map makes every child process go through src/core/children. Here a process is started past it on purpose:
// tests check that the server finds and kills a process that it did not start.
// oxlint-disable-next-line cadre/import-map
import { spawn } from 'node:child_process';
// The agent stands for a foreign program, which generates its ids itself.
// oxlint-disable-next-line eslint/no-restricted-imports
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Writable } from 'node:stream';

/** The agent's access to the system besides the protocol and its files. Tests can replace it. */
export interface AgentHost {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  newSessionId(): string;
  /** Writes to the stream of the protocol without encoding a message. */
  writeRaw(text: string): void;
  /** Resolves after `ms`; rejects if the signal aborts first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Starts a `sleep` of `ms` that outlives the agent; resolves with its pid once it runs. */
  startSleeper(ms: number): Promise<number>;
  exit(code: number): never;
}

/** The host in a real process that speaks the protocol on `stdout`. */
export function processHost(stdout: Writable): AgentHost {
  return {
    env: process.env,
    pid: process.pid,
    newSessionId: () => randomUUID(),
    writeRaw: (text) => void stdout.write(text),
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    startSleeper,
    exit: (code) => process.exit(code),
  };
}

async function startSleeper(ms: number): Promise<number> {
  // `detached` makes it the leader of a process group of its own, so a signal to our group does not reach it.
  const child = spawn('sleep', [String(ms / 1000)], { detached: true, stdio: 'ignore' });
  await once(child, 'spawn');
  child.unref();
  return child.pid ?? 0;
}
