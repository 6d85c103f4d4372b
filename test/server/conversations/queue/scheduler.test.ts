import { expect, it } from 'vitest';
import { Scheduler } from '../../../../src/server/conversations/inbox/scheduler.ts';
import { testStore } from '../../../support/memory-store.ts';

/** Lets all work run that waits for nothing but the event loop. */
const settle = () => new Promise((resolve) => void setImmediate(resolve));

/** A scheduler with two kinds of rows. `now.fails`: the function of the first kind that throws at the moment. */
async function twoKinds() {
  const { db, clock } = await testStore();
  const logged: string[] = [];
  const logger = { error: (_fields: object, text: string) => logged.push(text) };
  const scheduler = new Scheduler({ db, clock, logger: logger as never });
  const now: { fails: 'due' | 'act' | null; acts: string[] } = { fails: null, acts: [] };
  const failIf = (part: 'due' | 'act') => {
    if (now.fails === part) throw new Error('a row is damaged');
  };
  scheduler.register({
    due: () => {
      failIf('due');
      return clock.now() + 1000;
    },
    act: async () => {
      failIf('act');
      now.acts.push('first');
      return Promise.resolve();
    },
  });
  scheduler.register({
    due: () => null,
    act: () => Promise.resolve(void now.acts.push('second')),
  });
  await scheduler.open();
  now.acts = [];
  return { scheduler, clock, now, logged };
}

it('A kind of rows is acted on although another kind fails, which is tried again after five seconds.', async () => {
  const { scheduler, clock, now, logged } = await twoKinds();
  now.fails = 'act';
  clock.advance(1000);
  await settle();
  expect(now.acts).toEqual(['second']);
  expect(logged).toEqual(['cannot store the changes of due rows']);
  now.fails = null;
  clock.advance(4999);
  await settle();
  expect(now.acts).toEqual(['second']);
  clock.advance(1);
  await settle();
  expect(now.acts).toEqual(['second', 'first', 'second']);
  scheduler.stop();
});

it('A due time that cannot be read is read again after five seconds.', async () => {
  const { scheduler, clock, now, logged } = await twoKinds();
  now.fails = 'due';
  clock.advance(1000);
  await settle();
  expect(logged).toEqual(['cannot store the changes of due rows']);
  now.fails = null;
  now.acts = [];
  clock.advance(5000);
  await settle();
  expect(now.acts).toEqual(['first', 'second']);
  scheduler.stop();
});
