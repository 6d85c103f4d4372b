import { parseArgs } from 'node:util';
import { acknowledgedWrites } from './workloads/acknowledged-writes.ts';
import { coldStart } from './workloads/cold-start.ts';
import { fanOut } from './workloads/fan-out.ts';
import { largeTeam } from './workloads/large-team.ts';
import { shortCommands } from './workloads/short-commands.ts';
import { turnInside } from './workloads/turn-inside.ts';
import { warmStart } from './workloads/warm-start.ts';
import type { Workload } from './workload.ts';

const workloads: Record<string, Workload> = {
  'acknowledged-writes': acknowledgedWrites,
  'cold-start': coldStart,
  'fan-out': fanOut,
  'large-team': largeTeam,
  'short-commands': shortCommands,
  'turn-inside': turnInside,
  'warm-start': warmStart,
};

/**
 * Runs the workloads named on the command line, or all. Each runs against cadre and against a minimal baseline,
 * alternately and with the same client. Only the ratio of the two can be compared between machines.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '3' }, json: { type: 'boolean', default: false } },
});
for (const name of positionals.length > 0 ? positionals : Object.keys(workloads)) {
  const workload = workloads[name];
  if (!workload)
    throw new Error(`no workload "${name}"; there are: ${Object.keys(workloads).join(', ')}`);
  const figures = await workload.run(Number(values.rounds), (line) =>
    process.stderr.write(`${name}: ${line}\n`),
  );
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ workload: name, figures })}\n`);
    continue;
  }
  process.stdout.write(`\n${name}: ${workload.about}\n`);
  for (const { what, unit, cadre, bare } of figures) {
    const ratio = bare === 0 ? '-' : (cadre / bare).toFixed(2);
    process.stdout.write(
      `  ${what.padEnd(28)} cadre ${cadre.toFixed(1).padStart(9)} ${unit.padEnd(4)}  bare ${bare.toFixed(1).padStart(9)} ${unit.padEnd(4)}  ratio ${ratio}\n`,
    );
  }
}
