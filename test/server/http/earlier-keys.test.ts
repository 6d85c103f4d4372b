import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { openDatabase } from '../../support/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { killed, withHarness } from '../../support/sessions/harness.ts';
import { replayed, withKey } from './keyed-requests.ts';

/** The digest of a request in builds that took the fields of a body in the order of the request. */
const earlierDigest = (...parts: unknown[]) =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url');

it('An Idempotency-Key that an earlier build stored replays its answer after the upgrade, and for its own request only.', async () => {
  const body = { provider: 'acp', permission_mode: 'read_only', cwd: '/' };
  await using dead = await killed(async (harness) => {
    const { body: session } = await harness.post<{ id: string }>(
      '/v1/sessions',
      body,
      withKey('k'),
    );
    return session.id;
  });
  const db = await openDatabase(dead.directory);
  const change = db.prepare('UPDATE idempotency SET fingerprint = ?');
  await db.transact((tx) => change.run(tx, earlierDigest('POST', '/v1/sessions', body)));
  await db.close();
  await withHarness(
    async (harness) => {
      const again = await harness.post<{ id: string }>('/v1/sessions', body, withKey('k'));
      expect([again.status, again.body.id, replayed(again)]).toEqual([200, dead.left, 'true']);
      const other = { ...body, cwd: '/tmp' };
      expect((await harness.post('/v1/sessions', other, withKey('k'))).status).toBe(409);
    },
    { directory: dead.directory, clock: new ManualClock(dead.at) },
  );
});
