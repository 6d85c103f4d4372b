import fs from 'node:fs';
import path from 'node:path';
import { untilNothingCarries } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { type Figures, measure } from './measure.ts';
import { makePlace, type Place, type Size } from './place.ts';

export interface ScaleOptions {
  sizes: readonly Size[];
  /** Each size is measured so many times, the sizes one after the other. */
  rounds: number;
  requests: number;
  onMeasured?: (size: Size, figures: Figures) => void;
}

/** Makes a data directory of each size and measures all of them; resolves with the lowest values of each size. */
export async function scale({
  sizes,
  rounds,
  requests,
  onMeasured = () => undefined,
}: ScaleOptions): Promise<Figures[]> {
  await using root = tempDirectory('scale');
  try {
    const places: Place[] = [];
    for (const size of sizes) {
      const own = path.join(root.path, String(size.sessions));
      fs.mkdirSync(own);
      places.push(await makePlace(own, size));
    }
    const found = places.map((): Figures[] => []);
    for (let round = 0; round < rounds; round++)
      for (const [at, place] of places.entries()) {
        const figures = await measure(place, requests);
        onMeasured(place.size, figures);
        found[at]?.push(figures);
      }
    return found.map(lowest);
  } finally {
    await untilNothingCarries(root.path);
  }
}

/** The lowest value of each figure: other programs of the machine can only make a value higher. */
function lowest(rounds: readonly Figures[]): Figures {
  const names = Object.keys(rounds[0] ?? {});
  return Object.fromEntries(
    names.map((name) => [name, Math.min(...rounds.map((one) => one[name] ?? Number.NaN))]),
  );
}
