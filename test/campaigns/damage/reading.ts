import { AppError } from '../../../src/api/errors.ts';
import type { Scope } from '../../../src/core/events/event.ts';
import { pageOf } from '../../support/entries.ts';
import { note, openStore, type TestStore, eventDraft } from '../../support/store.ts';

export const EVENTS = 300;
const NOTES = 120;
const scopes: Scope[] = [{ name: 'runtime' }, { name: 'session', id: 'sess_3' }];

/** Fills a store with events of ten sessions, and with records, in several transactions. */
export async function fill(store: TestStore): Promise<void> {
  for (let at = 0; at < EVENTS; at += 50)
    await store.db.transact((tx) => {
      for (let i = at; i < at + 50; i++) store.log.append(tx, eventDraft(`sess_${i % 10}`));
    });
  await store.db.transact((tx) => {
    for (let i = 1; i <= NOTES; i++) store.notes.insert(tx, note(`sess_${i}`, { text: 'x' }));
  });
}

/** The events behind a cursor, read in pages; or the code of the error that says that some cannot be read. */
export function eventsOf({ log, db }: TestStore, scope: Scope, from: number): number[] | string {
  return orCode(() => {
    const seqs: number[] = [];
    for (let after = from, isFull = true; isFull;) {
      const page = pageOf(log, scope, { after, upTo: db.durableSeq, limit: 40, maxBytes: 1e9 });
      seqs.push(...page.entries.map(({ seq }) => seq));
      if (seqs.length > 2 * EVENTS) throw new Error('a reading does not end');
      ({ isFull, end: after } = page);
    }
    return seqs;
  });
}

/** The code of a refusal; every other error is a bug. */
function orCode<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

/** Opens a store on a directory; resolves with the message of a refusal where it does not open. */
export async function opened(
  directory: string,
  use: (store: TestStore) => Promise<void> | void,
): Promise<string | null> {
  let store: TestStore;
  try {
    store = await openStore(directory);
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
  try {
    await use(store);
    return null;
  } finally {
    await store[Symbol.asyncDispose]();
  }
}

/** Results of all reads of a whole store, by the name of the read. */
export function readings(store: TestStore): Map<string, unknown> {
  const all = new Map<string, unknown>();
  for (const scope of scopes)
    for (const from of [0, 100, EVENTS - 20])
      all.set(`${JSON.stringify(scope)} after ${from}`, eventsOf(store, scope, from));
  all.set(
    'records',
    orCode(() => store.db.peek((rx) => store.notes.where(rx, 'TRUE')).length),
  );
  return all;
}
