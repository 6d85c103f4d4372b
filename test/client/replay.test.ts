import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { replayBefore } from '../../src/client/replay.ts';
import { testRuntime } from '../support/runtime.ts';
import { scriptedProvider } from '../support/scripted-provider.ts';
import { openSession } from '../support/turns.ts';

test('`replayBefore` returns the last events before a seq, for a dense and a narrow scope.', async () => {
  const { client, directory } = await testRuntime({ providers: [scriptedProvider()] });
  const rare = await openSession(client, directory);
  for (let i = 0; i < 300; i++) await openSession(client, directory);
  const stored = await client.call(endpoints.replayEvents, { query: { limit: 10_000 } });
  const end = (stored.at(-1)?.seq ?? 0) + 1;
  for (const count of [1, 7, 100, 1000]) {
    expect(await replayBefore(client, {}, end, count)).toEqual(stored.slice(-count));
    expect(await replayBefore(client, {}, 100, count)).toEqual(
      stored.filter(({ seq }) => seq < 100).slice(-count),
    );
  }
  const own = stored.filter(({ session_id }) => session_id === rare.id);
  expect(own).toHaveLength(1);
  expect(await replayBefore(client, { sessionId: rare.id }, end, 5)).toEqual(own);
  const kinds = ['runtime.*'];
  expect(await replayBefore(client, { kinds }, end, 1)).toEqual(
    stored.filter(({ kind }) => kind.startsWith('runtime.')).slice(-1),
  );
  expect(await replayBefore(client, {}, 1, 5)).toEqual([]);
});
