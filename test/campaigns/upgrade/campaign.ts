import { below, seededRandom } from '../../support/random.ts';
import { formats } from './old-data.ts';

/** The size of a run, which the environment sets: `make upgrade KILLS=20 SEED=7`. */
export const campaign = {
  seed: Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9),
  /** Kills of each format. */
  kills: Number(process.env.KILLS ?? 2),
};

/** Formats of a run: FORMATS (`FORMATS="7 22"`) if it is set, all formats in a long run, or else a random one. */
export function formatsOfRun(): readonly number[] {
  if (process.env.FORMATS) return process.env.FORMATS.split(' ').map(Number);
  if (process.env.KILLS !== undefined) return formats;
  return [formats[below(formats.length, seededRandom(campaign.seed))] ?? 0];
}
