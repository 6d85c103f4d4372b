import { parseArgs } from 'node:util';
import { textOf } from './report/text.ts';
import { endOnSignals, namesFrom, resultOf, warnIfBusy } from './runner.ts';
import { cadreAt, OWN, peerFrom, type Subject } from './subject.ts';
import { workloads } from './workloads.ts';

const HELP = `node bench/run.ts [WORKLOAD...]     Measure these workloads (default: all)

  --short          Short form: seconds for each workload instead of minutes
  --rounds N       Number of rounds (default 3)
  --json           Print a line of JSON for each workload
  --cadre FILE     cadre to measure: an executable, or its bin/cadre.js (default: this checkout)
  --before FILE    Another cadre to measure in the same rounds, such as the build before a change
  PEER_CMD, PEER_URL and PEER_TOKEN name another server with the same HTTP interface: see docs/benchmarks.md

workloads: ${Object.keys(workloads).join(', ')}
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    short: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
    cadre: { type: 'string', default: OWN },
    before: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(HELP);
else await main();

async function main(): Promise<void> {
  const subjects: Subject[] = [cadreAt('cadre', values.cadre)];
  if (values.before !== undefined) subjects.push(cadreAt('before', values.before));
  const peer = peerFrom(process.env);
  if (peer) subjects.push(peer);
  const form = values.short ? 'short' : 'full';
  const rounds = Number(values.rounds);
  endOnSignals();
  warnIfBusy();
  for (const name of namesFrom(positionals)) {
    const result = await resultOf(name, { form, rounds, subjects });
    process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : `\n${textOf(result)}`);
  }
}
