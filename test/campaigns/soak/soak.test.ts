import path from 'node:path';
import { expect, test } from 'vitest';
import { scaled } from '../../support/patience.ts';
import { testServer } from '../../support/server.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';
import { EventWaiter } from '../crash/load.ts';
import { seeded } from '../crash/random.ts';
import { Subscriber } from '../fanout-follower.ts';
import { Load } from './load.ts';
import { type Measure, type Sample, Sampler, units } from './samples.ts';
import { soak } from './soak.ts';
import { curvesOf, growthIn } from './growth.ts';

/** A short run for each change; `make soak` takes hours. */
const SECONDS = 5;
const seed = Number(process.env.SEED || Date.now() % 2 ** 31);
const SAMPLES = 40;

test(
  'A server under mixed work is sampled, and keeps no follower, process or error afterwards.',
  { timeout: scaled(60_000) },
  async () => {
    process.stdout.write(`soak: ${SECONDS} s, SEED=${seed}\n`);
    const file = path.join(testDirectory('soak-samples'), 'samples.jsonl');
    const options = { seconds: SECONDS, everyMs: 300, seed, calm: 0.3, file };
    const { samples, counts, violations } = await soak(options);
    expect(violations).toEqual([]);
    const { sessions, turns, processes, followers, searches, lists } = counts;
    expect(Math.min(sessions, turns, processes, followers, searches, lists)).toBeGreaterThan(0);
    expect(samples.length).toBeGreaterThan(0);
    for (const { values } of samples)
      expect(Object.keys(values).toSorted()).toEqual(Object.keys(units).toSorted());
    const { values } = samples[0] as Sample;
    expect(values['resident memory']).toBeGreaterThan(10);
    expect(values.descriptors).toBeGreaterThan(10);
    expect(values['database and its log']).toBeGreaterThan(0);
  },
);

test(
  'The check finds followers that never leave, because the descriptors of the server grow.',
  { timeout: scaled(60_000) },
  async () => {
    const server = await testServer();
    const { client, directory } = server;
    const over = new AbortController();
    const { signal } = over;
    const pulse = new EventWaiter();
    const deps = { server, repo: directory, random: seeded(seed), pulse, calm: 1, signal };
    const following = new Load(deps).follow(signal);
    const { id: session } = await openSession(client, directory);
    const file = path.join(testDirectory('soak-samples'), 'samples.jsonl');
    const sampler = new Sampler({ server, session, pulse, file });
    const left: Subscriber[] = [];
    for (let n = 0; n < 12; n++) {
      for (let k = 0; k < 8; k++) left.push(await Subscriber.open(server));
      await sampler.sample();
    }
    expect(growthIn(sampler.samples)).toContainEqual(expect.stringMatching(/^descriptors grew/));
    for (const one of left) one.close();
    over.abort();
    await following;
  },
);

test('The check finds a value that grows by a third in the second half of a run, whichever it is.', () => {
  const checked = curvesOf(samplesOf({})).filter(({ isChecked }) => isChecked);
  expect(checked.map(({ measure }) => measure)).toContain('events, deltas and items');
  for (const { measure } of checked) {
    const leak = samplesOf({ [measure]: (n: number) => 100 + n * 2 });
    expect(growthIn(leak)).toEqual([expect.stringContaining(`${measure} grew by a factor of 1.3`)]);
  }
});

test('The check accepts a value that grows only in the first quarter of a run, swings, or has single peaks.', () => {
  const warmUp = (n: number) => 100 * Math.min(1, (n + 1) / (SAMPLES / 4));
  expect(growthIn(samplesOf({ 'resident memory': warmUp }))).toEqual([]);
  expect(growthIn(samplesOf({ heap: (n) => 100 + 50 * (n % 2) }))).toEqual([]);
  expect(growthIn(samplesOf({ descriptors: (n) => (n === 35 ? 1000 : 40) }))).toEqual([]);
});

test('The slope of a curve is per hour, without the warm-up.', () => {
  const curves = curvesOf(samplesOf({ heap: (n) => (n < SAMPLES / 4 ? 1000 : n) }));
  // A sample is 10 s.
  const heap = curves.find(({ measure }) => measure === 'heap');
  expect(heap?.slopePerHour).toBeCloseTo(360);
  expect(heap?.tenths).toHaveLength(10);
});

/** Samples of a run in which only some values are not always 100. */
function samplesOf(curves: Partial<Record<Measure, (n: number) => number>>): Sample[] {
  return Array.from({ length: SAMPLES }, (_, n) => {
    const values = Object.fromEntries(
      Object.keys(units).map((name) => [name, curves[name as Measure]?.(n) ?? 100]),
    ) as Record<Measure, number>;
    return { seconds: n * 10, values, rows: {} };
  });
}
