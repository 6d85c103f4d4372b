import fs from 'node:fs';
import path from 'node:path';
import { growthChart } from './report/growth-chart.ts';
import { withTables } from './report/page.ts';
import { fullest, readResults } from './report/result.ts';
import { newestStored } from './report/stored.ts';
import { workloads } from './workloads.ts';

/**
 * `node bench/page.ts [FILE...]`: writes the tables of docs/performance.md and the chart docs/growth.svg from files that
 * `bench/run.ts --json` wrote, or from the stored results of the newest version. If a workload has two results, the full
 * result counts, and of two full results the later one. This version describes the workloads.
 */
const files = process.argv.slice(2);
const results = fullest(readResults(files.length > 0 ? files : [newestStored()])).map((result) => ({
  ...result,
  about: workloads[result.workload]?.(result.form).about ?? result.about,
}));
const docs = path.join(import.meta.dirname, '../docs');
const page = path.join(docs, 'performance.md');
fs.writeFileSync(page, withTables(fs.readFileSync(page, 'utf8'), results));
const growth = results.find(({ workload }) => workload === 'growth');
if (growth) fs.writeFileSync(path.join(docs, 'growth.svg'), growthChart(growth));
