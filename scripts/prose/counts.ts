// The counts of findings by kind and folder, and how they may change: they only fall.
import path from 'node:path';
import type { Finding } from './habits.ts';

/** The number of findings of each kind in each folder. A folder without findings is absent. */
export type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>;

export function countsOf(findings: readonly Finding[]): Counts {
  const counts: Record<string, Record<string, number>> = {};
  for (const { kind, file } of findings) {
    const folders = (counts[kind] ??= {});
    const folder = folderOf(file);
    folders[folder] = (folders[folder] ?? 0) + 1;
  }
  return sorted(counts);
}

/** The folder that a file is counted in: the first two below src, the first below test, `.` for the top. */
export function folderOf(file: string): string {
  const parts = path.dirname(file).split('/');
  return parts.slice(0, levels[parts[0] ?? ''] ?? 1).join('/');
}

const levels: Readonly<Record<string, number>> = { src: 3, test: 2 };

export interface Rise {
  kind: string;
  folder: string;
  now: number;
  stored: number;
}

/** Where there are more findings than the stored counts allow. */
export function risesOf(now: Counts, stored: Counts): Rise[] {
  return Object.entries(now).flatMap(([kind, folders]) =>
    Object.entries(folders)
      .map(([folder, count]) => ({
        kind,
        folder,
        now: count,
        stored: stored[kind]?.[folder] ?? 0,
      }))
      .filter((one) => one.now > one.stored),
  );
}

/** The counts to store: the current counts where they are lower. */
export function lowered(now: Counts, stored: Counts): Counts {
  const counts: Record<string, Record<string, number>> = {};
  for (const [kind, folders] of Object.entries(stored))
    for (const [folder, count] of Object.entries(folders)) {
      const left = Math.min(count, now[kind]?.[folder] ?? 0);
      if (left > 0) (counts[kind] ??= {})[folder] = left;
    }
  return sorted(counts);
}

function sorted(counts: Counts): Counts {
  return byKey(Object.fromEntries(Object.entries(counts).map(([kind, one]) => [kind, byKey(one)])));
}

function byKey<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
