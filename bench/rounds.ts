import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Figure, Result } from './report/result.ts';
import { ratios, spread } from './report/statistics.ts';
import type { Subject } from './subject.ts';
import type { Measures, Sized } from './workload.ts';

/** Who is measured: each subject, and the baseline. */
type Side = Subject | 'bare';

/**
 * Runs a workload for a number of rounds. In each round every side has its turn, and each round begins with another one,
 * so that whatever else the machine does meets all sides alike.
 */
export async function runRounds(
  workload: Sized,
  subjects: readonly Subject[],
  rounds: number,
  progress: (line: string) => void,
): Promise<Pick<Result, 'figures' | 'failures'>> {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-bench-'));
  const sides: Side[] = [...subjects.filter((one) => canRun(one, workload)), 'bare'];
  const measured = new Map<string, Measures[]>(sides.map((side) => [nameOf(side), []]));
  const failures: Result['failures'] = [];
  try {
    for (const side of sides) {
      if (side === 'bare' || !workload.prepare) continue;
      progress(`the log of ${side.name} is made`);
      await workload.prepare({ subject: side, directory: path.join(root, side.name), round: 0 });
    }
    for (let round = 0; round < rounds; round++) {
      for (const side of rotated(sides, round)) {
        if (failures.some((failure) => failure.side === nameOf(side))) continue;
        try {
          measured.get(nameOf(side))?.push(await measure(workload, side, root, round));
        } catch (error) {
          // Another server may lack something. A failure of this cadre or of the baseline is a fault.
          if (side === 'bare' || side.name === 'cadre') throw error;
          failures.push({ side: side.name, reason: (error as Error).message });
        }
      }
      progress(`round ${round + 1} of ${rounds}`);
    }
  } finally {
    fs.rmSync(root, { recursive: true, force: true });
  }
  return { figures: figuresOf(workload.units, measured), failures };
}

/** The same items, beginning with another one each time. */
export function rotated<T>(items: readonly T[], by: number): T[] {
  const first = by % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

async function measure(
  workload: Sized,
  side: Side,
  root: string,
  round: number,
): Promise<Measures> {
  const fresh = fs.mkdtempSync(path.join(root, 'round-'));
  try {
    if (side === 'bare') return await workload.bare(fresh);
    const directory = workload.prepare ? path.join(root, side.name) : fresh;
    return await workload.server({ subject: side, directory, round });
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true });
  }
}

/** The figures of all rounds: each side's spread, and that of its ratio to the baseline in the same round. */
export function figuresOf(
  units: Record<string, string>,
  measured: ReadonlyMap<string, readonly Measures[]>,
): Figure[] {
  return Object.entries(units).map(([what, unit]) => {
    const valuesOf = (side: string) =>
      (measured.get(side) ?? []).map((one) => one[what] ?? Number.NaN).filter(Number.isFinite);
    const bare = valuesOf('bare');
    const sides: Figure['sides'] = {};
    const ratio: Figure['ratios'] = {};
    for (const side of measured.keys()) {
      const values = valuesOf(side);
      if (values.length === 0) continue;
      sides[side] = spread(values);
      const toBare = side === 'bare' ? null : ratios(values, bare);
      if (toBare) ratio[side] = toBare;
    }
    return { what, unit, sides, ratios: ratio };
  });
}

function nameOf(side: Side): string {
  return side === 'bare' ? 'bare' : side.name;
}

function canRun(subject: Subject, { needs }: Sized): boolean {
  if (needs === 'program') return subject.program !== null;
  return needs === 'server' || subject.isStarted;
}
