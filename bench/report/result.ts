import fs from 'node:fs';
import type { Spread } from './statistics.ts';

/** One measured thing of a workload. */
export interface Figure {
  what: string;
  unit: string;
  /** By side: `cadre`, `bare`, and where they ran `before`, `peer`, `bare-server` and `libraries`. */
  sides: Record<string, Spread>;
  /** The ratio of a side to the baseline. */
  ratios: Record<string, Spread>;
  /** The ratio of a side to the second baseline, in workloads that have one. */
  secondRatios?: Record<string, Spread>;
}

/** Result of a run of one workload, stored as a line of JSON. */
export interface Result {
  workload: string;
  about: string;
  form: 'short' | 'full';
  rounds: number;
  /** The version of cadre. */
  version: string;
  node: string;
  machine: string;
  figures: Figure[];
  /** Sides that could not run the workload. */
  failures: { side: string; reason: string }[];
}

/** Whether more of a unit is better. */
export function isMoreBetter(unit: string): boolean {
  return unit.endsWith('/s');
}

/** Reads files with one result per line. A later result replaces an earlier one of the same workload and form. */
export function readResults(files: readonly string[]): Result[] {
  const lines = files.flatMap((file) => fs.readFileSync(file, 'utf8').split('\n'));
  const results = lines.filter(Boolean).map((line) => JSON.parse(line) as Result);
  return [...new Map(results.map((one) => [`${one.workload} ${one.form}`, one])).values()];
}

/** One result of each workload: the full one where there is one. */
export function fullest(results: readonly Result[]): Result[] {
  const shortFirst = results.toSorted((one) => (one.form === 'short' ? -1 : 1));
  const byWorkload = new Map(shortFirst.map((one) => [one.workload, one]));
  return [...new Set(results.map(({ workload }) => workload))].flatMap(
    (workload) => byWorkload.get(workload) ?? [],
  );
}
