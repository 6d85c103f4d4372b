import fs from 'node:fs';
import { soak } from './soak.ts';
import { tableOf } from './report.ts';
import { growthIn } from './growth.ts';

/** `make soak MINUTES=240 [SEED=7]`: fails if anything grows. */
const { MINUTES, SEED, SOAK_FILE, CALM } = process.env;
const minutes = Number(MINUTES || 240);
const seed = Number(SEED || Date.now() % 2 ** 31);
const file = SOAK_FILE || `.cache/soak-${seed}.jsonl`;

fs.mkdirSync('.cache', { recursive: true });
fs.rmSync(file, { force: true });
process.stdout.write(`soak: ${minutes} minutes, SEED=${seed}, samples in ${file}\n`);
const { samples, counts, violations } = await soak({
  seconds: minutes * 60,
  everyMs: 5000,
  seed,
  calm: Number(CALM || 1),
  file,
});
process.stdout.write(`${tableOf(samples)}\n${JSON.stringify(counts, null, 2)}\n`);
const faults = [...growthIn(samples), ...violations];
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.exitCode = faults.length > 0 ? 1 : 0;
