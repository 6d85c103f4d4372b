import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Figure, Result } from './report/result.ts';
import { ratios, spread } from './report/statistics.ts';
import { secondBaselines, type Subject } from './subject.ts';
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
  const removeRoot = () => fs.rmSync(root, { recursive: true, force: true });
  process.once('exit', removeRoot);
  const run = new Run(workload, root, subjects);
  try {
    if (workload.prepare) progress('the logs are made');
    await run.prepare();
    for (let round = 0; round < rounds; round++) {
      await run.round(round);
      progress(`round ${round + 1} of ${rounds}`);
    }
  } finally {
    process.off('exit', removeRoot);
    removeRoot();
  }
  return { figures: figuresOf(workload.units, run.measured), failures: run.failures };
}

/** The rounds of a workload, and what they have measured. */
class Run {
  readonly measured: Map<string, Measures[]>;
  readonly failures: Result['failures'] = [];
  readonly #workload: Sized;
  readonly #root: string;
  readonly #sides: Side[];

  constructor(workload: Sized, root: string, subjects: readonly Subject[]) {
    this.#workload = workload;
    this.#root = root;
    const all = [...subjects, ...workload.servers.map((name) => secondBaselines[name])];
    this.#sides = [...all.filter((one) => canRun(one, workload)), 'bare'];
    this.measured = new Map(this.#sides.map((side) => [nameOf(side), []]));
  }

  async prepare(): Promise<void> {
    for (const side of this.#sides)
      await this.#attempt(side, async () => {
        if (side === 'bare') return;
        await this.#workload.prepare?.({ subject: side, directory: this.#kept(side), round: 0 });
      });
  }

  async round(round: number): Promise<void> {
    for (const side of rotated(this.#sides, round))
      await this.#attempt(side, async () => {
        this.measured.get(nameOf(side))?.push(await this.#measure(side, round));
      });
  }

  /** Another server may lack something: it is left out from then on. A failure of this cadre or of the baseline is a fault. */
  async #attempt(side: Side, run: () => Promise<void>): Promise<void> {
    if (this.failures.some((failure) => failure.side === nameOf(side))) return;
    try {
      await run();
    } catch (error) {
      if (side === 'bare' || side.name === 'cadre') throw error;
      this.failures.push({ side: side.name, reason: (error as Error).message });
    }
  }

  async #measure(side: Side, round: number): Promise<Measures> {
    const fresh = fs.mkdtempSync(path.join(this.#root, 'round-'));
    try {
      if (side === 'bare') return await this.#workload.bare(fresh);
      const directory = this.#workload.prepare ? this.#kept(side) : fresh;
      return await this.#workload.server({ subject: side, directory, round });
    } finally {
      fs.rmSync(fresh, { recursive: true, force: true });
    }
  }

  /** The directory of a subject that was prepared. */
  #kept(subject: Subject): string {
    return path.join(this.#root, subject.name);
  }
}

/** The same items, beginning with another one each time. */
export function rotated<T>(items: readonly T[], by: number): T[] {
  const first = by % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

/** Figures of all rounds: the spread of each side, and the spread of its ratio to the baseline of the same round. */
export function figuresOf(
  units: Record<string, string>,
  measured: ReadonlyMap<string, readonly Measures[]>,
): Figure[] {
  return Object.entries(units).map(([what, unit]) => {
    const valuesOf = (side: string) =>
      (measured.get(side) ?? []).map((one) => one[what] ?? Number.NaN).filter(Number.isFinite);
    const bare = valuesOf('bare');
    const second = Object.keys(secondBaselines).find((name) => measured.has(name)) ?? '';
    const ofSecond = valuesOf(second);
    const sides: Figure['sides'] = {};
    const ratio: Figure['ratios'] = {};
    const secondRatios: Figure['ratios'] = {};
    for (const side of measured.keys()) {
      const values = valuesOf(side);
      if (values.length === 0) continue;
      sides[side] = spread(values);
      const toBare = side === 'bare' ? null : ratios(values, bare);
      if (toBare) ratio[side] = toBare;
      const toSecond = [second, 'bare'].includes(side) ? null : ratios(values, ofSecond);
      if (toSecond) secondRatios[side] = toSecond;
    }
    return { what, unit, sides, ratios: ratio, ...(ofSecond.length > 0 && { secondRatios }) };
  });
}

function nameOf(side: Side): string {
  return side === 'bare' ? 'bare' : side.name;
}

function canRun(subject: Subject, { needs }: Sized): boolean {
  if (needs === 'program') return subject.program !== null;
  return needs === 'server' || subject.isStarted;
}
