import fs from 'node:fs';
import path from 'node:path';
import { bootId, identify, isAlive, signal } from '../children/identity.ts';
import { readSmallFile } from '../lib/foreign-file.ts';
import { ownLog } from '../lib/own-log.ts';
import { replaceFile } from '../lib/replace-file.ts';

/** The file by which clients on this machine find the running server. It holds the path of the token, not the token. */
export interface Registration {
  url: string;
  pid: number;
  // These two identify the process, because another process may have got its pid. Files of older versions lack them.
  started_ticks: number | null;
  boot_id: string | null;
  version: string;
  token_file: string | null;
  /** The file that it logs to; null where its terminal or its service manager has the log. */
  log: string | null;
}

/** The address and version of a server, and the path of its token. */
export type Registered = Pick<Registration, 'url' | 'version' | 'token_file'>;

export interface Found {
  server: Registration;
  runs: boolean;
}

const NAME = 'server.json';
const STOPPED = 'stopped';
const MAX_BYTES = 64 * 1024;

/** Registers this process as the server of a directory. Writes the file atomically. Called once the server listens. */
export function register(directory: string, server: Registered): void {
  const { pid } = process;
  const started_ticks = identify(pid)?.startedTicks ?? null;
  const log = ownLog(directory);
  const whole: Registration = { ...server, pid, started_ticks, boot_id: bootId(), log };
  replaceFile(path.join(directory, NAME), `${JSON.stringify(whole, null, 2)}\n`);
  allowStart(directory);
}

export function unregister(directory: string): void {
  fs.rmSync(path.join(directory, NAME), { force: true });
}

/** Records that a user stopped the server: until the next one registers, no command starts one by itself. */
export function forbidStart(directory: string): void {
  fs.writeFileSync(path.join(directory, STOPPED), '', { mode: 0o600 });
}

/** Reverts {@link forbidStart}. */
export function allowStart(directory: string): void {
  fs.rmSync(path.join(directory, STOPPED), { force: true });
}

/** Whether a user stopped the last server of a directory. */
export function isStartForbidden(directory: string): boolean {
  return fs.existsSync(path.join(directory, STOPPED));
}

/** The registered server and whether its process still runs; null where the file is missing or damaged. */
export function findRegistration(directory: string): Found | null {
  try {
    const { text } = readSmallFile(path.join(directory, NAME), { maxBytes: MAX_BYTES });
    const server = registrationOf(JSON.parse(text) as Partial<Registration>);
    return server && { server, runs: serverRuns(server) };
  } catch {
    return null;
  }
}

/** Null for an invalid registration. Without zod, which takes longer to load than a shell waits for completions. */
function registrationOf(found: Partial<Registration>): Registration | null {
  const { url, pid, started_ticks = null, boot_id = null, version, token_file, log = null } = found;
  const isWhole =
    typeof url === 'string' &&
    typeof pid === 'number' &&
    Number.isSafeInteger(pid) &&
    pid >= 1 &&
    (started_ticks === null || Number.isSafeInteger(started_ticks)) &&
    (boot_id === null || typeof boot_id === 'string') &&
    typeof version === 'string' &&
    (token_file === null || typeof token_file === 'string') &&
    (log === null || typeof log === 'string');
  return isWhole ? { url, pid, started_ticks, boot_id, version, token_file, log } : null;
}

/** Whether the process of a server that was registered still runs. */
export function serverRuns({
  pid,
  started_ticks: startedTicks,
  boot_id,
}: Pick<Registration, 'pid' | 'started_ticks' | 'boot_id'>): boolean {
  // In this order, since a look at a process may tell of the boot as well.
  if (startedTicks !== null) return isAlive({ pid, startedTicks }) && boot_id === bootId();
  return signal(pid, 0) !== 'gone';
}
