import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { type StoredToken, TokenStore } from '../../../src/core/access/tokens.ts';
import { endpoints } from '../../../src/api/index.ts';
import { apiOf } from '../../support/http/request.ts';
import { testRuntime } from '../../support/runtime.ts';
import { openStore } from '../../support/store.ts';
import { testDirectory } from '../../support/temp.ts';

test('A new token is refused while 1,000 tokens exist.', async () => {
  const directory = testDirectory('tokens');
  const ids = Array.from({ length: 1000 }, (_, i) => `tok_${i}`);
  {
    await using store = await openStore(directory);
    const tokens = new TokenStore(store.db);
    await store.db.transact((tx) => {
      for (const id of ids) tokens.insert(tx, aToken(id));
    });
  }
  const { given, client } = await testRuntime({ directory });
  const body = { name: 'one more', scope: 'read' };
  const refused = await apiOf(given)('POST', '/v1/tokens', { body });
  expect(refused.status).toBe(409);
  expect(refused.json()).toMatchObject({
    code: 'conflict',
    error: expect.stringMatching(
      /^cannot create a token, because the server already has the maximum of 1000 tokens: revoke a token first/,
    ),
  });
  await client.call(endpoints.deleteToken, { params: { token_id: ids[0] ?? '' } });
  expect((await apiOf(given)('POST', '/v1/tokens', { body })).status).toBe(200);
  expect((await apiOf(given)('POST', '/v1/tokens', { body })).status).toBe(409);
});

/** Returns the record of a token. */
function aToken(id: string): StoredToken {
  return {
    id,
    name: 'a token',
    scope: 'read',
    created_at: 1,
    expires_at: null,
    permission_mode: null,
    last_used_at: null,
    secret_sha256: createHash('sha256').update(id).digest('hex'),
  };
}
