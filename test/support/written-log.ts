import type { EventDraft } from '../../src/events/event.ts';
import { openStore } from './store.ts';

/** Writes events to the log of a directory on which no runtime works, without a request for each. */
export async function writeLog(directory: string, events: readonly EventDraft[]): Promise<void> {
  await using store = await openStore(directory, { durability: 'normal' });
  await store.db.transact((tx) => {
    for (const event of events) store.log.append(tx, event);
  });
}
