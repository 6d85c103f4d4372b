import { kinds } from '../../src/api/events.ts';
import type { EventDraft } from '../../src/core/events/event.ts';
import { openStore } from './store.ts';

/** An event that is as short as any. */
export const shortEvent: EventDraft = { kind: 'plan.updated', payload: { entries: [] } };

/** An event with a text of so many bytes: many of them are more than the sockets between a server and a reader hold. */
export function longEvent(bytes: number): EventDraft {
  const { example } = kinds['turn.failed'];
  const error = { code: 'x', message: 'x'.repeat(bytes) };
  return { kind: 'turn.failed', payload: { ...example, turn: { ...example.turn, error } } };
}

/** Writes events to the log of a directory on which no runtime works, without a request for each. */
export async function writeLog(directory: string, events: readonly EventDraft[]): Promise<void> {
  await using store = await openStore(directory, { durability: 'normal' });
  await store.db.transact((tx) => {
    for (const event of events) store.log.append(tx, event);
  });
}
