import fs from 'node:fs';
import path from 'node:path';
import { untilNothingCarries } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { measure } from './measure.ts';
import type { Figure, Figures } from './meter.ts';
import { makePlace, type Place, type Size } from './place.ts';

export interface ScaleOptions {
  sizes: readonly Size[];
  /** Each size is measured so many times, the sizes one after the other. */
  rounds: number;
  requests: number;
  /** A directory that keeps the data for the next run. */
  kept?: string | undefined;
  onMeasured?: (size: Size, figures: Figures) => void;
}

/** Makes a data directory of each size and measures all of them; resolves with the lowest values of each size. */
export async function scale({
  sizes,
  rounds,
  requests,
  kept,
  onMeasured = () => undefined,
}: ScaleOptions): Promise<Figures[]> {
  await using own = tempDirectory('scale');
  const root = kept ?? own.path;
  try {
    const places: Place[] = [];
    for (const size of sizes) {
      const place = path.join(root, String(size.sessions));
      fs.mkdirSync(place, { recursive: true });
      places.push(await makePlace(place, size));
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
    await untilNothingCarries(root);
  }
}

/** The lowest values of each figure: other programs of the machine can only make a value higher. */
function lowest(rounds: readonly Figures[]): Figures {
  const names = Object.keys(rounds[0] ?? {});
  return Object.fromEntries(
    names.map((name) => {
      const all = rounds.map((figures) => figures[name]).filter((one): one is Figure => !!one);
      const passed = all.map(({ passedMs }) => passedMs).filter((one) => one !== null);
      return [
        name,
        {
          value: Math.min(...all.map(({ value }) => value)),
          passedMs: passed.length > 0 ? Math.min(...passed) : null,
        },
      ];
    }),
  );
}
