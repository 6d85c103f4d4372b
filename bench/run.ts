import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { version } from '../src/lib/self.ts';
import type { Result } from './report/result.ts';
import { textOf } from './report/text.ts';
import { runRounds } from './rounds.ts';
import { cadreAt, peerFrom, type Subject } from './subject.ts';
import type { Form } from './workload.ts';
import { workloads } from './workloads.ts';

const HELP = `node bench/run.ts [WORKLOAD...]     all, if none is named

  --short          seconds for each workload, instead of minutes
  --rounds N       how often each side is measured (3)
  --json           a line of JSON for each workload on stdout
  --cadre FILE     the cadre to measure: an executable or its bin/cadre.js (that of this directory)
  --before FILE    another cadre, measured in the same rounds: what was there before a change
  PEER_CMD, PEER_URL and PEER_TOKEN name another server of the same interface: see docs/performance.md

workloads: ${Object.keys(workloads).join(', ')}
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    short: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
    cadre: { type: 'string', default: path.join(import.meta.dirname, '../bin/cadre.js') },
    before: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(HELP);
else await main();

async function main(): Promise<void> {
  const names = positionals.length > 0 ? positionals : Object.keys(workloads);
  const unknown = names.find((name) => !(name in workloads));
  if (unknown !== undefined) throw new Error(`there is no workload "${unknown}"\n\n${HELP}`);
  const subjects: Subject[] = [cadreAt('cadre', values.cadre)];
  if (values.before !== undefined) subjects.push(cadreAt('before', values.before));
  const peer = peerFrom(process.env);
  if (peer) subjects.push(peer);
  for (const name of names) {
    const result = await resultOf(name, subjects);
    process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : `\n${textOf(result)}`);
  }
}

async function resultOf(name: string, subjects: readonly Subject[]): Promise<Result> {
  const form: Form = values.short ? 'short' : 'full';
  const rounds = Number(values.rounds);
  const workload = workloads[name]?.(form);
  if (!workload) throw new Error(`there is no workload "${name}"`);
  const progress = (line: string) => void process.stderr.write(`${name}: ${line}\n`);
  const { about } = workload;
  const node = process.version;
  const machine = `${os.availableParallelism()} cores, ${os.cpus()[0]?.model ?? 'of an unknown kind'}`;
  const measured = await runRounds(workload, subjects, rounds, progress);
  return { workload: name, about, form, rounds, version, node, machine, ...measured };
}
