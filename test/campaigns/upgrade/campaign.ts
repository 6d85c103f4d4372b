import { below, seededRandom } from '../../support/random.ts';
import { formats } from './old-data.ts';

/** The size of a run, which the environment sets: `make upgrade KILLS=20 SEED=7`. */
export const campaign = {
  seed: Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9),
  /** Kills of each format. */
  kills: Number(process.env.KILLS ?? 2),
  /** The longest life of a server that is killed at a random time, in milliseconds. */
  lifeMs: 1500,
};

/** Formats of a run: FORMATS (`FORMATS="7 22"`) if it is set, all formats in a long run, or else two random formats. */
export function formatsOfRun(): readonly number[] {
  if (process.env.FORMATS) return process.env.FORMATS.split(' ').map(Number);
  if (process.env.KILLS !== undefined) return formats;
  const random = seededRandom(campaign.seed);
  const third = Math.floor(formats.length / 3);
  return [0, 1].map((at) => formats[at * third + below(third, random)] ?? 0);
}
