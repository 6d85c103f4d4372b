import { curvesOf, tableOf } from './curves.ts';
import { sizeOf } from './place.ts';
import { scale } from './scale.ts';

/** `make scale [SHARES="0.01 0.1 1"] [ROUNDS=3] [DIRECTORY=...]`: fails if a curve grows more than it may. */
const shares = (process.env.SHARES || '0.01 0.1 1').split(' ').map(Number);
const sizes = shares.map(sizeOf);
const all = await scale({
  sizes,
  rounds: Number(process.env.ROUNDS || 3),
  requests: Number(process.env.REQUESTS || 20),
  kept: process.env.DIRECTORY || undefined,
  onMeasured: (size, figures) => process.stdout.write(`${JSON.stringify({ size, figures })}\n`),
});
const curves = curvesOf(all, (shares.at(-1) ?? 1) / (shares[0] ?? 1));
const columns = sizes.map(({ sessions }) => `${sessions} sessions`);
process.stdout.write(`${tableOf(curves, columns)}\n`);
process.exitCode = curves.every(({ isAsAllowed }) => isAsAllowed) ? 0 : 1;
