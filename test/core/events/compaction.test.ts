import { expect, test } from 'vitest';
import type { EventKind } from '../../../src/api/events.ts';
import { untypedDraft } from '../../support/untyped-events.ts';
import { freshStore, openStore, steppingClock, type TestStore } from '../../support/store.ts';

const MINUTE_MS = 60_000;

/** Appends an event about an item of the session `s`. */
function append(store: TestStore, kind: EventKind, item_id: string): Promise<unknown> {
  const payload = { item_id, offset: 0, status: 'completed', text: 'x' };
  return store.db.transact((tx) =>
    store.log.append(tx, untypedDraft({ kind, session_id: 's', payload })),
  );
}

const kindsOf = (store: TestStore) => store.entries().map(({ kind }) => kind);

test('The log keeps the deltas of an open item, and of an item that was closed less than a minute ago.', async () => {
  const clock = steppingClock();
  const { store } = await freshStore({ clock });
  await append(store, 'message.delta', 'open');
  await append(store, 'message.delta', 'old');
  await append(store, 'message.completed', 'old');
  clock.skip(MINUTE_MS);
  await append(store, 'message.delta', 'new');
  await append(store, 'message.completed', 'new');
  expect(await store.log.compact()).toBe(false);
  expect(kindsOf(store)).toEqual([
    'message.delta',
    'message.completed',
    'message.delta',
    'message.completed',
  ]);
  await append(store, 'message.completed', 'open');
  clock.skip(MINUTE_MS);
  await store.log.compact();
  expect(kindsOf(store)).toEqual(Array.from({ length: 3 }, () => 'message.completed'));
});

test('A server removes the deltas of items that an earlier server has closed.', async () => {
  const clock = steppingClock();
  const { store, directory } = await freshStore({ clock });
  await append(store, 'message.delta', 'a');
  await append(store, 'message.completed', 'a');
  await store.log.compact();
  await store[Symbol.asyncDispose]();
  clock.skip(MINUTE_MS);
  await using next = await openStore(directory, { clock });
  await next.log.compact();
  expect(kindsOf(next)).toEqual(['message.completed']);
});

test('The deltas of an item are removed if the clock was set back after the item was closed.', async () => {
  const clock = steppingClock();
  const { store } = await freshStore({ clock });
  await append(store, 'message.delta', 'a');
  await append(store, 'message.completed', 'a');
  clock.skip(-60 * MINUTE_MS);
  await store.log.compact();
  expect(kindsOf(store)).toEqual(['message.completed']);
});

test('Many items are removed in several transactions.', async () => {
  const clock = steppingClock();
  const { store } = await freshStore({ clock });
  for (let i = 0; i < 30; i++) {
    await append(store, 'message.delta', `${i}`);
    await append(store, 'message.completed', `${i}`);
  }
  clock.skip(MINUTE_MS);
  expect(await store.log.compact()).toBe(true);
  expect(await store.log.compact()).toBe(false);
  expect(new Set(kindsOf(store))).toEqual(new Set(['message.completed']));
});
