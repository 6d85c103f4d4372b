import path from 'node:path';
import { configSchema } from '../../../src/core/config/schema.ts';
import { ManualClock } from '../manual-clock.ts';
import { withHarness, type Harness, type HarnessOptions } from '../sessions/harness.ts';
import { tempDirectory } from '../temp.ts';
import { type Archive, openArchive } from './archive.ts';

/** Runs `test` on a runtime that starts on the data that `write` has stored. */
export async function withArchive<T>(
  write: (archive: Archive) => Promise<T>,
  test: (harness: Harness, written: T) => Promise<void>,
  options: HarnessOptions = {},
): Promise<void> {
  await using own = tempDirectory('on-archive');
  const directory = path.join(own.path, 'data');
  const { written, now } = await writeArchive(directory, write);
  const clock = new ManualClock(now);
  await withHarness((harness) => test(harness, written), { clock, ...options, directory });
}

/** Stores data in a new directory; returns the time. */
export async function writeArchive<T>(
  directory: string,
  write: (archive: Archive) => Promise<T>,
): Promise<{ written: T; now: number }> {
  await using archive = await openArchive(directory);
  const written = await write(archive);
  return { written, now: archive.clock.now() };
}

/** Changes the limits of retention, and starts the next pass. */
export function retain(harness: Harness, retention: object): void {
  limit(harness, retention);
  passTime(harness);
}

/** Changes the limits of retention, as a SIGHUP does. */
export function limit(harness: Harness, retention: object): void {
  harness.given.runtime.reload(() => configSchema.parse({ retention }));
}

/** Advances the clock until retention is due again. */
export function passTime({ clock }: Harness): void {
  clock.advance(10_000);
}
