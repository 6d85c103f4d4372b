import nodeFs from 'node:fs';
import { EventLog } from '../../src/core/events/log.ts';
import { systemIds } from '../../src/core/lib/ids.ts';
import { SessionStore } from '../../src/server/conversations/sessions/store.ts';
import type { Database } from '../../src/core/store/database.ts';
import type { DatabaseOptions } from '../../src/core/store/open.ts';
import { openDatabase } from './database.ts';
import { openForTest } from './shared.ts';
import { tempDirectory } from './temp.ts';
import { ManualClock } from './manual-clock.ts';

/** A real store with its log, in its own directory. */
export interface TestStore {
  db: Database;
  log: EventLog;
  store: SessionStore;
  clock: ManualClock;
  directory: string;
}

/** Runs `test` with a new store; always closes it afterwards. */
export async function withStore<T>(
  test: (given: TestStore) => Promise<T>,
  options: Partial<Omit<DatabaseOptions, 'clock'>> = {},
): Promise<T> {
  await using directory = tempDirectory('store');
  const clock = new ManualClock();
  const db = await openDatabase(directory.path, { durability: 'normal', clock, ...options });
  try {
    const log = new EventLog({ db, clock, ids: systemIds });
    const store = new SessionStore({ db, log });
    return await test({ db, log, store, clock, directory: directory.path });
  } finally {
    await db.close();
  }
}

/** Opens a new store, which is closed when the test has finished. */
export function testStore(options?: Parameters<typeof withStore>[1]): Promise<TestStore> {
  return openForTest((use) => withStore(use, options));
}

/** A disk whose syncs wait until the test releases them. */
export function heldDisk() {
  const held: (() => void)[] = [];
  let isHeld = false;
  const fs = {
    ...nodeFs,
    fdatasync(fd: number, done: (error: NodeJS.ErrnoException | null) => void) {
      const sync = () => nodeFs.fdatasync(fd, done);
      if (isHeld) held.push(sync);
      else sync();
    },
  } as unknown as NonNullable<DatabaseOptions['fs']>;
  return {
    fs,
    hold: () => void (isHeld = true),
    release() {
      isHeld = false;
      for (const sync of held.splice(0)) sync();
    },
  };
}
