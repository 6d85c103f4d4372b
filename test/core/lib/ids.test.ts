import { afterEach, expect, test, vi } from 'vitest';
import { systemIds } from '../../../src/core/lib/ids.ts';

afterEach(() => void vi.useRealTimers());

const next = () => systemIds.next('evt');
const timeOf = (id: string) => Number.parseInt(id.slice('evt_'.length, 'evt_'.length + 12), 16);

test('An id is a UUID of version 7 without dashes, with the time in milliseconds.', () => {
  const before = Date.now();
  const id = next();
  expect(id).toMatch(/^evt_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
  expect(timeOf(id)).toBeGreaterThanOrEqual(before);
  expect(timeOf(id)).toBeLessThanOrEqual(Date.now());
});

test('Each id is new, and sorts after earlier ones.', () => {
  const ids = Array.from({ length: 20_000 }, next);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted()).toEqual(ids);
});

test('An id sorts after earlier ones even if the clock is set back.', () => {
  vi.useFakeTimers({ now: Date.now() + 60_000, toFake: ['Date'] });
  const ids = [next(), next()];
  vi.setSystemTime(Date.now() - 30_000);
  ids.push(next(), next());
  expect(ids.toSorted()).toEqual(ids);
});

test('Each id has different random bits.', () => {
  const ends = Array.from({ length: 5000 }, () => next().slice(-12));
  expect(new Set(ends).size).toBe(ends.length);
});
