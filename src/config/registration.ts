import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { bootId, identify, isAlive, signal } from '../children/identity.ts';
import { readSmallFile } from '../lib/foreign-file.ts';

/** The file by which clients on this machine find the running server. It holds the path of the token, not the token. */
const registration = z.looseObject({
  url: z.string(),
  pid: z.int().min(1),
  // Identifies the process, because another process may have got its pid. Files of older versions lack it.
  started_ticks: z.int().nullable().default(null),
  boot_id: z.string().nullable().default(null),
  version: z.string(),
  token_file: z.string().nullable(),
});
type Registration = z.output<typeof registration>;

/** What a server registers: its address, its version and the path of its token. */
export type Registered = Pick<Registration, 'url' | 'version' | 'token_file'>;

const NAME = 'server.json';
const MAX_BYTES = 64 * 1024;

/** Registers this process as the server of a directory. Writes the file atomically. Called once the server listens. */
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

/** The registered server and whether its process still runs; null where the file is missing or damaged. */
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
