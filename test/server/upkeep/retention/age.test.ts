import { describe, expect, test } from 'vitest';
import { ofSession, seqsOf, testArchive } from '../../../support/retention/archive.ts';

const DAY_MS = 86_400_000;

describe('max_age_days', () => {
  test('lets go what is older, of closed and of open sessions, and keeps what is not.', async () => {
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
    expect(archive.told().map(({ reason }) => reason)).toEqual([
      'max_age_days',
      'max_age_days',
      'max_age_days',
    ]);
    expect(archive.session('old-closed').trimmed).toBe(true);
    expect(archive.session('young-closed').trimmed).toBe(false);
  });

  test('may be a part of a day.', async () => {
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

  test('lets nothing go of an unfinished turn, however long it lasts.', async () => {
    const archive = await testArchive();
    const events = await archive.fill('running', { end: 'running' });
    const asked = await archive.ask('running');
    archive.settings.max_age_days = 1;
    archive.clock.advance(30 * DAY_MS);
    await archive.retain();
    const [created, ...unfinished] = seqsOf(events);
    expect(archive.left(ofSession('running'))).toEqual([...unfinished, asked?.seq]);
    expect(archive.told()).toMatchObject([{ events: 1, trimmed_seq: created }]);
  });

  test('counts from the end of a closed session: what it said last is kept with what it said first.', async () => {
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

  test('takes nothing where all is young, and writes nothing.', async () => {
    const archive = await testArchive();
    await archive.fill('closed');
    archive.settings.max_age_days = 1;
    await archive.retain();
    expect(archive.left()).toEqual(seqsOf(archive.appended));
    expect(archive.told()).toEqual([]);
  });

  // The session that was opened first is looked at alone, and it is too young: the step ends there.
  test('lets go what an old closed session said, also where one that was opened before it was closed later.', async () => {
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
});
