import fs from 'node:fs';
import path from 'node:path';
import type { Clock } from './clock.ts';

const STDERR = 2;
/** A log that has become larger is moved aside, in place of the one before; the size is looked at every ten seconds. */
export const MAX_LOG_BYTES = 8 * 1024 * 1024;
const LOOK_MS = 10_000;

/** The log of a server that has no terminal and no service manager with a log of its own. */
export function logFile(directory: string): string {
  return path.join(directory, 'serve.log');
}

/** Returns that file if this process writes its errors into it; else null. */
export function ownLog(directory: string): string | null {
  const file = logFile(directory);
  try {
    const [open, there] = [fs.fstatSync(STDERR), fs.statSync(file)];
    return open.isFile() && open.dev === there.dev && open.ino === there.ino ? file : null;
  } catch {
    return null;
  }
}

/**
 * Keeps the log of this process from growing for ever, until disposed: beyond `MAX_LOG_BYTES` it is copied aside and emptied.
 * Whoever opened it for this process has to append to it.
 */
export function keepLogSmall(file: string, clock: Clock): Disposable {
  return clock.every(LOOK_MS, () => setAside(file));
}

/** Copies a log that is too large aside, and empties it. A log that cannot be copied grows on. */
export function setAside(file: string): void {
  try {
    if ((fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0) <= MAX_LOG_BYTES) return;
    fs.copyFileSync(file, `${file}.1`);
    fs.truncateSync(file);
  } catch {
    // The server continues, for example if the disk is full.
  }
}
