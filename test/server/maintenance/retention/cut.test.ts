import { cpSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { testDirectory } from '../../../support/temp.ts';
import { type Archive, openArchive, ofSession } from '../../../support/retention/archive.ts';
import { atLength } from '../../../support/at-length.ts';

/** Aborts before the step with that number: retention looks at its signal once a step. */
class AbortedAt {
  steps = 0;
  readonly #last: number;

  constructor(last: number) {
    this.#last = last;
  }

  get aborted(): boolean {
    return ++this.steps >= this.#last;
  }
}

/** Stores two closed sessions that take many steps, and an open one at a turn; answers the last seq. */
async function fill(directory: string): Promise<number> {
  await using archive = await openArchive(directory);
  await archive.fill('first', { turns: atLength(40, 120), bulk: 6 });
  await archive.fill('second', { turns: 2, bulk: atLength(100, 300) });
  await archive.fill('open', { turns: 2, bulk: atLength(100, 300), end: 'running' });
  return archive.db.durableSeq;
}

/** Lets go of all that may, until `signal` aborts. */
async function retain(archive: Archive, signal: object): Promise<void> {
  archive.settings.max_bytes = 1;
  await archive.retain(signal as AbortSignal);
}

/** Returns the state after a pass without its own events, whose number depends on the division into steps. */
function stateOf({ store, left, log, db }: Archive, lastFilled: number) {
  const check = db.prepare('PRAGMA integrity_check');
  return db.peek((rx) => ({
    events: left().filter((seq) => seq <= lastFilled),
    sessions: store.sessions.where(rx, 'n > 0'),
    turns: store.turns.where(rx, 'n > 0'),
    items: store.items.where(rx, 'n > 0'),
    trimmed: ['first', 'second', 'open'].map((id) => log.trimmedSeq(ofSession(id))),
    integrity: check.get(rx),
  }));
}

const trimmedEventsOf = ({ trimmedPayloads }: Archive) =>
  trimmedPayloads().reduce((sum, { events }) => sum + events, 0);

test('A pass continues after a restart, wherever it was cut, and counts nothing twice.', async () => {
  const own = testDirectory('cut');
  const at = (name: string) => path.join(own, name);
  const last = await fill(at('filled'));
  const copyTo = (name: string) => cpSync(at('filled'), at(name), { recursive: true });

  copyTo('whole');
  const uncut = new AbortedAt(Number.POSITIVE_INFINITY);
  await using whole = await openArchive(at('whole'));
  await retain(whole, uncut);
  const expected = stateOf(whole, last);
  expect(expected.sessions.map(({ trimmed }) => trimmed)).toEqual([true, true, false]);
  expect(uncut.steps).toBeGreaterThan(10);

  for (let cut = 1; cut <= uncut.steps; cut++) {
    copyTo('cut');
    const passes = { trimmedEvents: 0 };
    for (const signal of [new AbortedAt(cut), new AbortController().signal]) {
      await using archive = await openArchive(at('cut'));
      await retain(archive, signal);
      passes.trimmedEvents += trimmedEventsOf(archive);
      if (signal instanceof AbortedAt) continue;
      expect(stateOf(archive, last)).toEqual(expected);
      // The events that tell of it are not counted.
      expect(passes.trimmedEvents).toBe(last - archive.left().filter((seq) => seq <= last).length);
    }
  }
});
