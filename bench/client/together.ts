import { quantile } from '../report/statistics.ts';

/** How fast something was done again and again. */
export interface Pace {
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
}

/** Runs something `count` times by a number of clients, each of which waits for its end before the next. */
export async function together(
  clients: number,
  count: number,
  run: (client: number, n: number) => Promise<unknown>,
): Promise<Pace> {
  const times: number[] = [];
  let next = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let n = next++; n < count; n = next++) {
        const asked = performance.now();
        await run(client, n);
        times.push(performance.now() - asked);
      }
    }),
  );
  const perSecond = count / ((performance.now() - started) / 1000);
  return { perSecond, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}
