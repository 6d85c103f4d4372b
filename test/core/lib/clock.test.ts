import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/core/lib/clock.ts';

const DAY_MS = 86_400_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

it('A callback runs exactly on time, even beyond the longest timer of Node.', () => {
  const fn = vi.fn();
  systemClock.after(60 * DAY_MS, fn);
  vi.advanceTimersByTime(60 * DAY_MS - 1);
  expect(fn).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(fn).toHaveBeenCalledOnce();
});

it('A disposed callback never runs.', () => {
  const fn = vi.fn();
  const timer = systemClock.after(60 * DAY_MS, fn);
  vi.advanceTimersByTime(30 * DAY_MS);
  timer[Symbol.dispose]();
  vi.advanceTimersByTime(60 * DAY_MS);
  expect(fn).not.toHaveBeenCalled();
});

it('A sleep beyond the longest timer of Node ends exactly on time.', async () => {
  const woke = vi.fn();
  void systemClock.sleep(60 * DAY_MS).then(woke);
  await vi.advanceTimersByTimeAsync(60 * DAY_MS - 1);
  expect(woke).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(woke).toHaveBeenCalledOnce();
});

it('A sleep ends when its signal aborts, and rejects with the reason.', async () => {
  const signal = new AbortController();
  const sleep = systemClock.sleep(DAY_MS, signal.signal);
  const reason = new Error('enough');
  signal.abort(reason);
  await expect(sleep).rejects.toBe(reason);
  await expect(systemClock.sleep(DAY_MS, signal.signal)).rejects.toBe(reason);
  expect(vi.getTimerCount()).toBe(0);
});
