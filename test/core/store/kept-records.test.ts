import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { EmptyKeys } from '../../../src/core/store/empty-keys.ts';
import { RecordTable } from '../../../src/core/store/records.ts';
import type { Writer } from '../../../src/core/store/transaction.ts';
import { type Note, note, openStore, type TestStore } from '../../support/store.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

const ids = ['a', 'b', 'c'];

interface Step {
  act: 'write' | 'delete' | 'look';
  id: string;
}

/** The transactions of one group. Each may fail by itself; the commit may fail for all of them. */
interface GroupPlan {
  members: { steps: Step[]; fails: boolean }[];
  commitFails: boolean;
}

const anyStep = fc.record({
  act: fc.constantFrom<Step['act'][]>('write', 'delete', 'look'),
  id: fc.constantFrom(...ids),
});
const anyGroup: fc.Arbitrary<GroupPlan> = fc.record({
  members: fc.array(
    fc.record({ steps: fc.array(anyStep, { maxLength: 4 }), fails: fc.boolean() }),
    { minLength: 1, maxLength: 3 },
  ),
  commitFails: fc.boolean(),
});

test('A record that a table keeps in memory equals its row, whatever transactions and groups fail.', () =>
  fc.assert(
    fc.asyncProperty(fc.array(anyGroup, { maxLength: 6 }), async (groups) => {
      await using directory = tempDirectory();
      let commitFails = false;
      const failpoint = (name: string) => {
        if (name === 'commit.before' && commitFails) throw new Error('the commit failed');
      };
      await using store = await openStore(directory.path, { failpoint });
      const kept = new RecordTable<Note>(store.db, 'sessions', ({ id }) => id, { keeps: true });
      const empty = new EmptyKeys(store.db, 'sessions', 'id');
      let version = 0;
      const run = (tx: Writer, { act, id }: Step) => {
        if (act === 'delete') kept.delete(tx, id);
        if (act === 'write') {
          const record = note(id, { version: ++version });
          empty.delete(id);
          if (kept.get(tx, id)) kept.update(tx, record);
          else kept.insert(tx, record);
        }
        empty.has(tx, id);
      };
      for (const group of groups) {
        commitFails = group.commitFails;
        const members = group.members.map(({ steps, fails }) =>
          store.db.transact((tx) => {
            for (const step of steps) run(tx, step);
            if (fails) throw new Error('the transaction failed');
          }),
        );
        expectEqual(store, kept, empty);
        await Promise.allSettled(members);
        expectEqual(store, kept, empty);
      }
      commitFails = false;
    }),
    { numRuns: 60 },
  ));

function expectEqual({ db, notes }: TestStore, kept: RecordTable<Note>, empty: EmptyKeys): void {
  db.peek((rx) => {
    for (const id of ids) {
      const stored = notes.get(rx, id);
      expect(kept.get(rx, id)).toEqual(stored);
      expect(empty.has(rx, id)).toBe(stored === undefined);
    }
  });
}

test('A record that a table keeps in memory cannot be changed by the code that reads the record.', async () => {
  await using store = await openStore(testDirectory());
  const kept = new RecordTable<Note>(store.db, 'sessions', ({ id }) => id, { keeps: true });
  await store.db.transact((tx) => kept.insert(tx, note('a')));
  const record = store.db.peek((rx) => kept.get(rx, 'a')) as Note;
  expect(() => (record.version = 2)).toThrow(TypeError);
});
