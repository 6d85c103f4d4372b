import { crashCampaign } from './crash.ts';

/** `make crash N=200 [SEED=7]`: the campaign as long as wanted, for whoever wants to be sure. */
const cycles = wholeNumber(process.argv[2] ?? process.env.N, 200);
const seed = wholeNumber(process.argv[3] ?? process.env.SEED, Date.now() % 2 ** 31);
const started = performance.now();

process.stdout.write(`crash campaign: ${cycles} cycles, seed ${seed}\n`);
try {
  const summary = await crashCampaign({
    cycles,
    seed,
    onProgress({ cycles: done, acknowledgedWrites, eventsRead, longestRestartMs }) {
      if (done % 10 !== 0) return;
      const seconds = Math.round((performance.now() - started) / 1000);
      process.stdout.write(
        `  ${done} cycles in ${seconds} s: ${acknowledgedWrites} acknowledged writes, ` +
          `${eventsRead} events read, longest restart ${longestRestartMs} ms\n`,
      );
    },
  });
  process.stdout.write(`nothing was lost\n${JSON.stringify(summary, null, 2)}\n`);
} catch (error) {
  process.stderr.write(`crash campaign failed: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

function wholeNumber(text: string | undefined, fallback: number): number {
  if (text === undefined || text === '') return fallback;
  if (!/^\d{1,10}$/.test(text))
    throw new Error(`"${text}" is not a whole number: crash.main.ts [N] [SEED]`);
  return Number(text);
}
