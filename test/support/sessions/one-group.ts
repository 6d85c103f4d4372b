import type { Ids } from '../../../src/core/lib/ids.ts';
import { systemIds } from '../../../src/core/lib/ids.ts';
import { HeldSyncs } from './faults.ts';
import { withTimeout } from './with-timeout.ts';
import type { Harness } from './harness.ts';

/** Ids that count created events, including events that are not published yet. */
export class CountingIds implements Ids {
  #events = 0;
  #look: () => void = () => undefined;

  next(prefix: Parameters<Ids['next']>[0]): string {
    if (prefix === 'evt') {
      this.#events++;
      this.#look();
    }
    return systemIds.next(prefix);
  }

  /** Resolves once so many more events are created after the call. */
  more(count: number): Promise<void> {
    const wanted = this.#events + count;
    const made = new Promise<void>((resolve) => {
      this.#look = () => void (this.#events >= wanted && resolve());
    });
    return withTimeout(made, `${count} more events`);
  }
}

/**
 * Runs `work` while commits wait, as they do during the sync of the database file. All its transactions reach the disk
 * as one group, and are answered at the same moment.
 */
export async function inOneGroup<T>(harness: Harness, work: () => Promise<T>): Promise<T> {
  using syncs = new HeldSyncs();
  let isHeld = false;
  const held = syncs.hold('/events.cadre').then(() => (isHeld = true));
  while (!isHeld) await Promise.race([held, harness.open({ metadata: 'x'.repeat(200_000) })]);
  const result = await work();
  syncs.release();
  return result;
}
