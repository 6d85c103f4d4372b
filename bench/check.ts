import { parseArgs } from 'node:util';
import { compare, LIMIT, type Comparison } from './report/compare.ts';
import { readResults, type Result } from './report/result.ts';
import { newestStored } from './report/stored.ts';
import { shortNumber } from './report/text.ts';
import { endOnSignals, resultOf, warnIfBusy } from './runner.ts';
import { cadreAt, OWN } from './subject.ts';

/**
 * `node bench/check.ts [WORKLOAD...]`: compares this cadre with the stored results of the newest release, says what got
 * worse by more than 15 %, and fails if something did. Measures the workloads in the short form, with `--full` in the full
 * one; or reads the results of a run that was made before (`--results FILE`).
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    stored: { type: 'string', default: newestStored() },
    results: { type: 'string', multiple: true },
    full: { type: 'boolean', default: false },
  },
});

const form = values.full ? 'full' : 'short';
const stored = readResults([values.stored]).filter(
  (one) => one.form === form && (positionals.length === 0 || positionals.includes(one.workload)),
);
if (stored.length === 0) throw new Error(`${values.stored} has no such result of the form ${form}`);
const now = values.results ? readResults(values.results) : await measured(stored);
const comparisons = compare(stored, now);
process.stdout.write(`${report(comparisons)}\n`);
process.exitCode = comparisons.some(({ verdict }) => verdict === 'worse') ? 1 : 0;

async function measured(stored: readonly Result[]): Promise<Result[]> {
  const rounds = Number(values.rounds);
  const subjects = [cadreAt('cadre', OWN)];
  const results: Result[] = [];
  endOnSignals();
  warnIfBusy();
  for (const { workload } of stored)
    results.push(await resultOf(workload, { form, rounds, subjects }));
  return results;
}

function report(all: readonly Comparison[]): string {
  const of = (verdict: Comparison['verdict']) => all.filter((one) => one.verdict === verdict);
  const share = `${LIMIT * 100} %`;
  return [
    ...section(`worse by more than ${share}, in each round:`, of('worse')),
    ...section(
      `worse by more than ${share}, but not in each round: run these again, where nothing else works`,
      of('unsure'),
    ),
    ...section(`better by more than ${share}, in each round:`, of('better')),
    `${of('same').length} of ${all.length} figures are as in ${values.stored}`,
  ].join('\n');
}

function section(title: string, comparisons: readonly Comparison[]): string[] {
  const lines = comparisons.map(({ workload, what, stored, now, change }) => {
    const rounds = `${shortNumber(now.low)}-${shortNumber(now.high)}`;
    const name = `${workload}: ${what}`.padEnd(52);
    return `  ${name} ${shortNumber(stored)} -> ${shortNumber(now.median)} (${rounds}), ${Math.round(Math.abs(change) * 100)} %`;
  });
  return lines.length === 0 ? [] : [title, ...lines];
}
