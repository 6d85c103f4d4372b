import { expect, test } from 'vitest';
import { ModelCache } from '../../src/agents/installed.ts';
import { ManualClock } from '../support/manual-clock.ts';

const model = (id: string) => ({ id, display_name: id, reasoning_levels: [] });

test('Models are listed again only if the last list is older than ten minutes.', async () => {
  const clock = new ManualClock();
  const cache = new ModelCache(clock);
  let lists = 0;
  const ask = () => cache.fresh(async () => [model(`list-${++lists}`)]);

  expect(cache.newest).toEqual([]);
  expect(await ask()).toMatchObject([{ id: 'list-1' }]);
  clock.advance(600_000);
  expect(await ask()).toMatchObject([{ id: 'list-1' }]);
  clock.advance(1);
  expect(await ask()).toMatchObject([{ id: 'list-2' }]);
});

test('A list that fails keeps the previous list.', async () => {
  const clock = new ManualClock();
  const cache = new ModelCache(clock);
  cache.store([model('opus')]);
  clock.advance(600_001);
  const failing = cache.fresh(() => Promise.reject(new Error('no network')));
  await expect(failing).rejects.toThrow('no network');
  expect(cache.newest).toMatchObject([{ id: 'opus' }]);
});

test('Models are listed again after a change of the login, and the last list stays until then.', async () => {
  const cache = new ModelCache(new ManualClock());
  cache.store([model('opus')]);
  cache.expire();
  expect(cache.newest).toMatchObject([{ id: 'opus' }]);
  expect(await cache.fresh(async () => [model('haiku')])).toMatchObject([{ id: 'haiku' }]);
});
