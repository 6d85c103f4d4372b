import { expect, test } from 'vitest';
import {
  type Archive,
  everything,
  ofSession,
  seqsOf,
  testArchive,
} from '../../../support/retention/archive.ts';
import type { Writer } from '../../../../src/core/store/transaction.ts';
import { untypedDraft, type UntypedEvent } from '../../../support/untyped-events.ts';

/** Makes the data a byte more than they may be: a tenth of them has to go. */
async function retainTightly(archive: Archive): Promise<void> {
  archive.settings.max_bytes = archive.budget.usedBytes - 1;
  await archive.retain();
}

/** Lets everything go that may. */
async function retainNothing(archive: Archive): Promise<void> {
  archive.settings.max_bytes = 1;
  await archive.retain();
}

const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
const gone = (archive: Archive, events: readonly UntypedEvent[]) => {
  const left = new Set(archive.left());
  return seqsOf(events).filter((seq) => !left.has(seq));
};

test('Closed sessions are trimmed one after the other, before any open session.', async () => {
  const archive = await testArchive();
  const open = await archive.fill('open', { end: 'ready' });
  for (const id of ['a', 'b', 'c']) await archive.fill(id);
  for (const remaining of [['b', 'c'], ['c'], []]) {
    await retainTightly(archive);
    const stillThere = ['a', 'b', 'c'].filter((id) => archive.left(ofSession(id)).length > 0);
    expect(stillThere).toEqual(remaining);
    expect(gone(archive, open)).toEqual([]);
  }
  await retainTightly(archive);
  expect(gone(archive, open)).not.toEqual([]);
});

test('Events of an open session are removed with the deltas of their items, never without them.', async () => {
  const archive = await testArchive();
  await archive.fill('open', { end: 'ready' });
  const append = (tx: Writer, kind: 'message.delta' | 'message.completed', item_id: string) =>
    archive.log.append(
      tx,
      untypedDraft({
        kind,
        session_id: 'open',
        payload: { item_id, offset: 0, text: 'x' },
      }),
    );
  await archive.db.transact((tx) => {
    append(tx, 'message.delta', 'closed');
    append(tx, 'message.delta', 'said');
    append(tx, 'message.delta', 'closed');
    append(tx, 'message.completed', 'closed');
  });
  const left = () => new Set(archive.left(ofSession('open')));
  await retainNothing(archive);
  const deltas = archive.appended.filter(({ kind }) => kind === 'message.delta').slice(-3);
  const stays = deltas.map(({ seq, payload }) => [payload.item_id, left().has(seq)]);
  expect(stays).toEqual([
    ['closed', false],
    ['said', true],
    ['closed', false],
  ]);
});

test('Events of open sessions are removed by age, whichever session they belong to.', async () => {
  const archive = await testArchive();
  await archive.fill('a', { end: 'ready', bulk: 400 });
  await archive.fill('b', { end: 'ready', bulk: 400 });
  await archive.fill('c', { end: 'ready', bulk: 400 });
  const before = archive.left().filter((seq) => !isDelta(archive, seq));
  await retainTightly(archive);
  const left = archive.left(everything).filter((seq) => !isDelta(archive, seq));
  const [oldestLeft = 0] = left;
  expect(oldestLeft).toBeGreaterThan(before[0] ?? 0);
  expect(left.slice(0, -1)).toEqual(before.filter((seq) => seq >= oldestLeft));
});

test('Events are removed until some room is free, so that not each new event causes a pass.', async () => {
  const archive = await testArchive();
  for (let i = 0; i < 20; i++) await archive.fill(`closed${i}`, { bulk: 50 });
  const max = archive.budget.usedBytes - 1;
  await retainTightly(archive);
  expect(archive.budget.usedBytes).toBeLessThanOrEqual(0.9 * max);
  expect(archive.budget.usedBytes).toBeGreaterThan(0.75 * max);
});

test('No event of an unfinished turn is removed, whatever else of its session is.', async () => {
  const archive = await testArchive();
  const running = await archive.fill('running', { turns: 3, end: 'running' });
  await archive.fill('closed');
  await archive.fill('ready', { end: 'ready' });
  await retainNothing(archive);
  const unfinished = running.filter(({ turn_id }) => turn_id === 'running-turn3');
  const ofOthers = running.filter(({ turn_id, kind }) => {
    return turn_id !== 'running-turn3' && kind !== 'message.delta';
  });
  expect(gone(archive, unfinished)).toEqual([]);
  expect(gone(archive, ofOthers)).toEqual(seqsOf(ofOthers));
});

test('No event of a turn that waits for an approval is removed, and the approval stays.', async () => {
  const archive = await testArchive();
  await archive.fill('waiting', { end: 'running' });
  const asked = await archive.ask('waiting');
  await archive.fill('ready', { end: 'ready' });
  await retainNothing(archive);
  expect(archive.left()).toContain(asked?.seq);
  expect(archive.db.peek((rx) => archive.store.allPendingApprovals(rx))).toHaveLength(1);
});

test('The events of a turn can be removed once it has ended.', async () => {
  const archive = await testArchive();
  const running = await archive.fill('one', { end: 'running' });
  await retainNothing(archive);
  expect(gone(archive, running).length).toBeLessThan(3);
  await archive.closeSession('one');
  await retainNothing(archive);
  expect(archive.left(ofSession('one'))).toEqual([]);
});

test('Retention returns free pages to the disk.', async () => {
  const archive = await testArchive();
  for (let i = 0; i < 8; i++) await archive.fill(`closed${i}`, { bulk: 3000 });
  const pages = archive.db.prepare<[number]>('PRAGMA page_count');
  const count = () => archive.db.peek((rx) => pages.get(rx)?.[0]) ?? 0;
  const before = count();
  await retainNothing(archive);
  expect(archive.budget.freePages).toBeLessThanOrEqual(4000);
  expect(count()).toBeLessThan(before / 2);
});

test('Data within the budget stays, and nothing is written.', async () => {
  const archive = await testArchive();
  await archive.fill('closed');
  await archive.fill('open', { end: 'ready' });
  const before = archive.left();
  archive.settings.max_bytes = archive.budget.usedBytes;
  await archive.retain();
  expect(archive.left()).toEqual(before);
  expect(archive.session('closed').trimmed).toBe(false);
});

test('Without a limit, all data stays.', async () => {
  const archive = await testArchive();
  await archive.fill('closed', { bulk: 3000 });
  const before = archive.left();
  await archive.retain();
  expect(archive.left()).toEqual(before);
});

test('The event names exactly the removed data of a closed session.', async () => {
  const archive = await testArchive();
  const first = await archive.fill('first', { bulk: 1200 });
  await archive.fill('open', { end: 'ready' });
  await retainNothing(archive);
  const payloads = archive.trimmedPayloads().filter(({ closed_session_id: id }) => id === 'first');
  expect(payloads.map(({ events }) => events)).toEqual([500, 500, first.length - 1000, 0]);
  expect(payloads.slice(0, 3).map(({ trimmed_seq: seq }) => seq)).toEqual(
    [499, 999, first.length - 1].map((at) => first[at]?.seq),
  );
  // The last step took what its turns said.
  expect(payloads.map(({ is_whole }) => is_whole)).toEqual([false, false, false, true]);
});

test('The event names exactly the removed data of open sessions.', async () => {
  const archive = await testArchive();
  await archive.fill('a', { end: 'ready', bulk: 700 });
  await archive.fill('b', { end: 'ready', bulk: 700 });
  const before = archive.appended.slice();
  await retainTightly(archive);
  const payloads = archive.trimmedPayloads();
  expect(sum(payloads.map(({ events }) => events))).toBe(gone(archive, before).length);
  expect(payloads.at(-1)?.trimmed_seq).toBe(gone(archive, before).at(-1));
  for (const { reason, closed_session_id: closed = null } of payloads)
    expect([reason, closed]).toEqual(['max_bytes', null]);
});

test('storage.trimmed counts exactly the removed events, over many passes.', async () => {
  const archive = await testArchive();
  for (let round = 0; round < 6; round++) {
    await archive.fill(`closed${round}`, { bulk: 150 });
    await archive.fill(`open${round}`, { end: 'ready', bulk: 150 });
    await retainTightly(archive);
  }
  const counted = sum(archive.trimmedPayloads().map(({ events }) => events));
  // A later pass may remove the storage.trimmed events of earlier passes, without counting them.
  const others = archive.appended.filter(({ kind }) => kind !== 'storage.trimmed');
  expect(counted).toBe(gone(archive, others).length);
});

// Otherwise each pass would remove the storage.trimmed event of the last pass, and report that with another one.
test('No storage.trimmed is written if only the storage.trimmed of the last pass could be removed.', async () => {
  const archive = await testArchive();
  await archive.fill('running', { end: 'running' });
  await retainNothing(archive);
  await archive.retain();
  const before = archive.db.durableSeq;
  for (let i = 0; i < 5; i++) await archive.retain();
  expect(archive.db.durableSeq).toBe(before);
});

function isDelta({ appended }: Archive, seq: number): boolean {
  return appended.find((event) => event.seq === seq)?.kind === 'message.delta';
}
