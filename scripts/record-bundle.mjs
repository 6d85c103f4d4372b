// Runs a bundle with some command lines, one after the other, and writes which of its functions have run; see code-cache.mjs.
//
//   record-bundle.mjs DIRECTORY BUNDLE LINES-AS-JSON PLACE
import * as fs from 'node:fs';
import { Session } from 'node:inspector';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { recordOf, sourceOf } from './code-cache.mjs';

const [directory, bundle, lines, place] = process.argv.slice(2);
const file = join(directory, `${bundle}.cjs`);

// Two builds have to run the same, however slow the machine is: no time passes, and nothing comes that only time brings.
const { setInterval } = globalThis;
Date.now = () => 1_800_000_000_000;
performance.now = () => 0;
globalThis.setInterval = (fn) => setInterval(fn, 2 ** 31 - 1);

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
const run = new Script(sourceOf(directory, bundle), { filename: file }).runInThisContext();

process.channel?.unref();
const left = JSON.parse(lines);
process.on('beforeExit', next);
process.on('exit', record);
next();

function next() {
  const line = left.shift();
  if (line === undefined) return;
  process.argv = [process.execPath, join(directory, 'cadre.cjs'), ...line];
  run({}, createRequire(file), { exports: {} }, file, directory);
}

function record() {
  // The session is of this thread, so the answer comes at once.
  session.post('Profiler.takePreciseCoverage', (error, answer) => {
    if (error) throw error;
    const { functions } = answer.result.find(({ url }) => url.endsWith(`${bundle}.cjs`));
    const ends = functions
      .map(({ ranges: [whole] }) => whole)
      .filter(({ count }) => count > 0)
      .toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
      .map(({ endOffset }) => endOffset);
    fs.writeFileSync(recordOf(place, bundle), JSON.stringify(ends));
  });
}
