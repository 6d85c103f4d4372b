import * as fc from 'fast-check';
import { tempDirectory } from '../../../support/temp.ts';
import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../../src/api/events.ts';
import type { Scope } from '../../../../src/core/events/event.ts';
import { EventTrim } from '../../../../src/server/maintenance/retention/trim.ts';
import { beginTurn } from '../../../../src/server/conversations/sessions/session.ts';
import { aSession, aTurn } from '../../../support/records.ts';
import { type Archive, seqsOf, openArchive } from '../../../support/retention/archive.ts';
import { untypedDraft } from '../../../support/untyped-events.ts';
import { atLength } from '../../../support/at-length.ts';

const names = ['a', 'b', 'c'];
const anyName = fc.option(fc.constantFrom(...names), { nil: null });
const append = fc.record({
  act: fc.constant('append' as const),
  kind: fc.constantFrom('session.updated' as const, 'message.delta' as const),
  session_id: anyName,
  turn_id: fc.constantFrom('active', 'ended', null),
  process_id: anyName,
  worktree_id: anyName,
  team_id: anyName,
});
const limit = fc.integer({ min: 1, max: 6 });
const step = fc.oneof(
  { weight: 4, arbitrary: append },
  fc.record({
    act: fc.constant('of' as const),
    column: fc.constantFrom('session_id' as const, 'process_id' as const),
    id: fc.constantFrom(...names),
    limit,
  }),
  fc.record({
    act: fc.constant('oldest' as const),
    after: fc.integer({ min: 0, max: 10 }),
    age: fc.integer({ min: 0, max: 5 }),
    limit,
  }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const scopes: Scope[] = [
  { name: 'runtime' },
  ...(['session', 'process', 'worktree', 'team'] as const).flatMap((name) =>
    names.map((id) => ({ name, id })),
  ),
];

const isOf = (scope: Scope) => (event: RuntimeEventRecord) =>
  scope.name === 'runtime' || event[`${scope.name}_id`] === scope.id;

/** The session `a` is at the turn `active`; of the others no turn is active. */
async function begin({ db, store }: Archive): Promise<void> {
  await db.transact((tx) => {
    for (const id of names) store.sessions.insert(tx, aSession({ id }));
    const turn = aTurn({ session_id: 'a', turn_id: 'active' });
    store.sessions.update(tx, beginTurn(aSession({ id: 'a' }), turn, 1));
  });
}

async function take({ db, log, clock }: Archive, trim: EventTrim, one: Step): Promise<void> {
  clock.advance(1);
  await db.transact((tx) => {
    if (one.act === 'append') {
      const { act: _act, ...draft } = one;
      log.append(tx, untypedDraft({ ...draft, payload: { item_id: 'item' } }));
    } else if (one.act === 'of') trim.eventsOf(tx, one.column, one.id, one.limit);
    else trim.oldest(tx, one.after, clock.now() - one.age, one.limit);
  });
}

/** Takes any steps on a new archive; `check` runs after each one. */
async function expectAfterSteps(
  check: (archive: Archive, one: Step, before: number[]) => void,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      await using directory = tempDirectory('archive');
      await using archive = await openArchive(directory.path);
      await begin(archive);
      const trim = new EventTrim({ db: archive.db, onTrimmed: () => undefined });
      for (const one of steps) {
        const before = archive.left();
        await take(archive, trim, one);
        check(archive, one, before);
      }
    }),
    { numRuns: atLength(10, 30, 30) },
  );
}

test('The trimmed_seq of each scope is the highest seq that was removed from it.', () =>
  expectAfterSteps((archive) => {
    for (const scope of scopes) {
      const left = new Set(archive.left(scope));
      const gone = archive.appended.filter(isOf(scope)).filter(({ seq }) => !left.has(seq));
      expect(archive.log.trimmedSeq(scope)).toBe(gone.at(-1)?.seq ?? 0);
    }
  }));

test('The remaining events are in order, and each step has removed the oldest events.', () =>
  expectAfterSteps((archive, one, before) => {
    const goes = toGo(archive, before, one);
    const stays = before.filter((seq) => !goes.includes(seq));
    const comes = one.act === 'append' ? archive.appended.slice(-1) : [];
    expect(archive.left()).toEqual([...stays, ...seqsOf(comes)]);
  }));

/** Computes without SQL which events a step has to remove. */
function toGo({ appended, clock }: Archive, before: number[], one: Step): number[] {
  if (one.act === 'append') return [];
  const there = appended.filter(({ seq }) => before.includes(seq));
  const going = there.filter((event) => {
    if (one.act === 'of') return event[one.column] === one.id;
    const isActive = event.session_id === 'a' && event.turn_id === 'active';
    const isOld = event.created_at < clock.now() - one.age;
    return event.kind !== 'message.delta' && event.seq > one.after && isOld && !isActive;
  });
  return seqsOf(going.slice(0, one.limit));
}
