import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { writeHistory } from '../../test/campaigns/million-log.ts';
import { type Times, timedStart } from '../../test/campaigns/million-start.ts';
import { pair, type Workload } from '../workload.ts';

const FEW = 10_000;
const MANY = 200_000;
const STARTS = 5;

/** How a long log affects the time of a start and of the first pages after it. */
export const warmStart: Workload = {
  about: `${STARTS} starts a round, to the ready line, and first pages after each, with ${MANY} events; bare: with ${FEW}`,
  async run(rounds, progress) {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-bench-'));
    const few = await writeHistory(path.join(directory, 'few'), FEW);
    const many = await writeHistory(path.join(directory, 'many'), MANY);
    // The first start with each log brings its files into the page cache.
    const found = { ...(await timedStart(few)), ...(await timedStart(many)) };
    const units = Object.fromEntries(Object.keys(found).map((what) => [what, 'ms']));
    const times = { few: [] as Times[], many: [] as Times[] };
    for (let round = 1; round <= rounds; round++) {
      for (let start = 0; start < STARTS; start++) {
        times.few.push(await timedStart(few));
        times.many.push(await timedStart(many));
      }
      progress(`round ${round} of ${rounds}`);
    }
    fs.rmSync(directory, { recursive: true });
    return pair(times.many, times.few, units);
  },
};
