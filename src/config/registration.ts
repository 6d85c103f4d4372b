import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { bootId, identify, isAlive, signal } from '../children/identity.ts';
import { readSmallFile } from '../lib/foreign-file.ts';

/** How a client on this machine finds the running server. The file has no secret in it, only where one is. */
const registration = z.looseObject({
  url: z.string(),
  pid: z.int().min(1),
  // Its number alone may be another program's by now. Absent in what an older version wrote.
  started_ticks: z.int().nullable().default(null),
  boot_id: z.string().nullable().default(null),
  version: z.string(),
  token_file: z.string().nullable(),
});
type Registration = z.output<typeof registration>;

/** What a server says of itself: where it is, and what lets a client in. */
export type Registered = Pick<Registration, 'url' | 'version' | 'token_file'>;

const NAME = 'server.json';
const MAX_BYTES = 64 * 1024;

/** Registers this process as the server of a directory, once it listens: whole or not at all. */
export function register(directory: string, server: Registered): void {
  const { pid } = process;
  const file = path.join(directory, NAME);
  const draft = `${file}.${pid}`;
  const started_ticks = identify(pid)?.startedTicks ?? null;
  const whole: Registration = { ...server, pid, started_ticks, boot_id: bootId() };
  fs.writeFileSync(draft, `${JSON.stringify(whole, null, 2)}\n`, { mode: 0o600 });
  fs.renameSync(draft, file);
}

export function unregister(directory: string): void {
  fs.rmSync(path.join(directory, NAME), { force: true });
}

/** The registered server, and whether its process still runs; null where there is none, or a broken file. */
export function findRegistration(
  directory: string,
): { server: Registration; runs: boolean } | null {
  try {
    const { text } = readSmallFile(path.join(directory, NAME), { maxBytes: MAX_BYTES });
    const server = registration.parse(JSON.parse(text));
    return { server, runs: runs(server) };
  } catch {
    return null;
  }
}

function runs({ pid, started_ticks: startedTicks, boot_id }: Registration): boolean {
  if (startedTicks !== null) return boot_id === bootId() && isAlive({ pid, startedTicks });
  return signal(pid, 0) !== 'gone';
}
