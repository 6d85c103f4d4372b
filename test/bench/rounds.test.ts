import { expect, it } from 'vitest';
import { runRounds } from '../../bench/rounds.ts';
import type { Subject } from '../../bench/subject.ts';
import { type Measures, workload } from '../../bench/workload.ts';

function subject(name: Subject['name'], more: Partial<Subject> = {}): Subject {
  const start = () => Promise.reject(new Error('nothing is started'));
  return { name, program: null, isStarted: true, start, ...more };
}

/** A workload that notes which side was measured, and measures what `values` says. */
function noted(values: (side: string) => Measures) {
  const order: string[] = [];
  const measure = (side: string) => {
    order.push(side);
    return Promise.resolve(values(side));
  };
  const sized = workload({
    about: 'a test',
    needs: 'process',
    units: { time: 'ms' },
    sizes: { short: null, full: null },
    server: ({ subject }) => measure(subject.name),
    bare: () => measure('bare'),
  })('short');
  return { order, sized };
}

const quiet = () => undefined;

it('Each round measures each side once, and starts with another side than the last round.', async () => {
  const { order, sized } = noted(() => ({ time: 1 }));
  await runRounds(sized, [subject('cadre'), subject('before')], 3, quiet);
  expect(order.join(' ')).toBe('cadre before bare before bare cadre bare cadre before');
});

it('The figures of all rounds contain the spread of each side and its ratio to the baseline.', async () => {
  const { sized } = noted((side) => ({ time: side === 'bare' ? 2 : 6 }));
  const { figures } = await runRounds(sized, [subject('cadre')], 3, quiet);
  const six = { median: 6, low: 6, high: 6 };
  const two = { median: 2, low: 2, high: 2 };
  const three = { median: 3, low: 3, high: 3 };
  const sides = { cadre: six, bare: two };
  expect(figures).toEqual([{ what: 'time', unit: 'ms', sides, ratios: { cadre: three } }]);
});

it('Rounds continue without another server that fails, and report the reason.', async () => {
  const { order, sized } = noted((side) => {
    if (side === 'peer') throw new Error('it has no such route');
    return { time: 1 };
  });
  const run = await runRounds(sized, [subject('cadre'), subject('peer')], 2, quiet);
  expect(run.failures).toEqual([{ side: 'peer', reason: 'it has no such route' }]);
  expect(order.filter((side) => side === 'peer')).toHaveLength(1);
  expect(Object.keys(run.figures[0]?.sides ?? {})).toEqual(['cadre', 'bare']);
});

it('Rounds continue without another build if its state cannot be created.', async () => {
  const { order, sized } = noted(() => ({ time: 1 }));
  const prepare = ({ subject }: { subject: Subject }) =>
    subject.name === 'before' ? Promise.reject(new Error('too old')) : Promise.resolve();
  const run = await runRounds(
    { ...sized, prepare },
    [subject('cadre'), subject('before')],
    1,
    quiet,
  );
  expect(run.failures).toEqual([{ side: 'before', reason: 'too old' }]);
  expect(order).toEqual(['cadre', 'bare']);
});

it('Rounds fail if cadre fails.', async () => {
  const { sized } = noted(() => {
    throw new Error('a fault');
  });
  await expect(runRounds(sized, [subject('cadre')], 1, quiet)).rejects.toThrow('a fault');
});

it('A workload that needs a process leaves out a server that the bench did not start.', async () => {
  const { order, sized } = noted(() => ({ time: 1 }));
  await runRounds(sized, [subject('cadre'), subject('peer', { isStarted: false })], 1, quiet);
  expect(order).toEqual(['cadre', 'bare']);
});

it('A figure leaves out the sides that have no value for it.', async () => {
  const { sized } = noted((side) => (side === 'bare' ? {} : { time: Number.NaN }));
  const { figures } = await runRounds(sized, [subject('cadre')], 1, quiet);
  expect(figures).toEqual([{ what: 'time', unit: 'ms', sides: {}, ratios: {} }]);
});

it('A workload with a second baseline has the ratio of each server to it.', async () => {
  const { sized } = noted((side) => ({ time: { cadre: 12, 'bare-server': 4 }[side] ?? 2 }));
  const { figures } = await runRounds(
    { ...sized, servers: ['bare-server'] },
    [subject('cadre')],
    1,
    quiet,
  );
  const three = { median: 3, low: 3, high: 3 };
  expect(figures[0]?.secondRatios).toEqual({ cadre: three });
  expect(Object.keys(figures[0]?.sides ?? {})).toEqual(['cadre', 'bare-server', 'bare']);
});
