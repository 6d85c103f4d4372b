import type { Arrived } from './reader.ts';

/** The messages of several readings that end, in the order of the stream. */
export async function* joined(
  readings: readonly AsyncGenerator<Arrived, void>[],
): AsyncGenerator<Arrived, void> {
  try {
    let open = await Promise.all(readings.map(next));
    for (;;) {
      const [first, ...others] = open
        .filter((one) => one !== null)
        .toSorted((one, other) => seqOf(one) - seqOf(other));
      if (!first) return;
      yield first.found;
      open = [await next(first.reading), ...others];
    }
  } finally {
    await Promise.allSettled(readings.map((reading) => reading.return()));
  }
}

interface Open {
  reading: AsyncGenerator<Arrived, void>;
  found: Arrived;
}

function seqOf({ found }: Open): number {
  return found.message.streamSeq;
}

async function next(reading: AsyncGenerator<Arrived, void>): Promise<Open | null> {
  const { value } = await reading.next();
  return value ? { reading, found: value } : null;
}
