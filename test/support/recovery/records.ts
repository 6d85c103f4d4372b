import { mkdirSync } from 'node:fs';
import { EventLog } from '../../../src/core/events/log.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { systemIds } from '../../../src/core/lib/ids.ts';
import { SessionStore } from '../../../src/server/conversations/sessions/store.ts';
import type { Writer } from '../../../src/core/store/transaction.ts';
import { openDatabase } from '../database.ts';

/** Writes rows and events into the store of a directory, as a killed server could have left them. */
export async function leaveBehind(
  directory: string,
  write: (tx: Writer, store: SessionStore, log: EventLog) => void,
): Promise<void> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const db = await openDatabase(directory);
  const log = new EventLog({ db, clock: systemClock, ids: systemIds });
  const store = new SessionStore({ db, log });
  await db.transact((tx) => write(tx, store, log));
  await db.close();
}
