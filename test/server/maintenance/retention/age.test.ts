import { expect, test } from 'vitest';
import { ofSession, seqsOf, testArchive } from '../../../support/retention/archive.ts';

const DAY_MS = 86_400_000;

test('Older events of closed and of open sessions are removed, and newer ones stay.', async () => {
  const archive = await testArchive();
  await archive.fill('old-closed');
  await archive.fill('old-open', { end: 'ready' });
  archive.clock.advance(DAY_MS);
  const young = [
    ...(await archive.fill('young-closed')),
    ...(await archive.fill('young-open', { end: 'ready' })),
  ];
  archive.settings.max_age_days = 1;
  await archive.retain();
  const left = archive.left();
  expect(archive.left(ofSession('old-closed'))).toEqual([]);
  // With what closes an item go its deltas.
  expect(archive.left(ofSession('old-open'))).toEqual([]);
  expect(left.slice(0, young.length)).toEqual(seqsOf(young));
  expect(archive.trimmedPayloads().map(({ reason }) => reason)).toEqual([
    'max_age_days',
    'max_age_days',
    'max_age_days',
  ]);
  expect(archive.session('old-closed').trimmed).toBe(true);
  expect(archive.session('young-closed').trimmed).toBe(false);
});

test('max_age_days may be a fraction of a day.', async () => {
  const archive = await testArchive();
  await archive.fill('closed');
  archive.settings.max_age_days = 0.5;
  archive.clock.advance(DAY_MS / 2);
  await archive.retain();
  expect(archive.left(ofSession('closed'))).not.toEqual([]);
  archive.clock.advance(1);
  await archive.retain();
  expect(archive.left(ofSession('closed'))).toEqual([]);
});

test('No event of an unfinished turn is removed, however long the turn lasts.', async () => {
  const archive = await testArchive();
  const events = await archive.fill('running', { end: 'running' });
  const asked = await archive.ask('running');
  archive.settings.max_age_days = 1;
  archive.clock.advance(30 * DAY_MS);
  await archive.retain();
  const [created, ...unfinished] = seqsOf(events);
  expect(archive.left(ofSession('running'))).toEqual([...unfinished, asked?.seq]);
  expect(archive.trimmedPayloads()).toMatchObject([{ events: 1, trimmed_seq: created }]);
});

test('The age of a closed session counts from its end, so that all its events stay together.', async () => {
  const archive = await testArchive();
  await archive.fill('long', { end: 'ready' });
  archive.settings.max_age_days = 2;
  archive.clock.advance(DAY_MS);
  await archive.closeSession('long');
  archive.clock.advance(1.5 * DAY_MS);
  await archive.retain();
  expect(archive.session('long').trimmed).toBe(false);
  expect(archive.itemsOf('long-turn1')).toHaveLength(1);
  archive.clock.advance(DAY_MS);
  await archive.retain();
  expect(archive.session('long').trimmed).toBe(true);
  expect(archive.itemsOf('long-turn1')).toEqual([]);
});

test('A pass without old events removes nothing, and writes nothing.', async () => {
  const archive = await testArchive();
  await archive.fill('closed');
  archive.settings.max_age_days = 1;
  await archive.retain();
  expect(archive.left()).toEqual(seqsOf(archive.appended));
  expect(archive.trimmedPayloads()).toEqual([]);
});

// The session that was opened first is looked at alone, and it is too young: the step ends there.
test('The events of an old closed session are removed, even if an older session was closed later.', async () => {
  const archive = await testArchive();
  await archive.fill('opened-first', { end: 'ready' });
  await archive.fill('closed-first');
  archive.settings.max_age_days = 1;
  archive.clock.advance(2 * DAY_MS);
  await archive.closeSession('opened-first');
  await archive.retain();
  expect(archive.session('opened-first').trimmed).toBe(false);
  expect(archive.session('closed-first').trimmed).toBe(true);
});

test.each(['sessions', 'turns'])(
  'Other closed sessions are trimmed although a row of the table %s is damaged.',
  async (table) => {
    const archive = await testArchive();
    const { db, store, clock, settings } = archive;
    const damage = db.prepare(`UPDATE ${table} SET sum = sum + 1 WHERE n = 1`);
    for (const id of ['damaged', 'intact']) await archive.fill(id);
    await db.transact((tx) => damage.run(tx));
    settings.max_age_days = 1;
    clock.advance(2 * DAY_MS);
    await archive.retain();
    expect(archive.session('intact').trimmed).toBe(true);
    const { records } = db.peek((rx) => store.sessions.whereIntact(rx, "id = 'damaged'"));
    expect(records.map(({ trimmed }) => trimmed)).toEqual(table === 'sessions' ? [] : [false]);
  },
);
