import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { ANCHOR_FILE } from '../../../../src/core/store/anchor.ts';
import { testDemo } from '../../../support/demo-server.ts';
import { withServer } from '../../../support/server.ts';
import { WAL_FILE } from '../../../support/store.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession, runTurn } from '../../../support/turns.ts';

test('A server whose log and position file are both gone reports it in health, summary and event, and starts a new epoch.', async () => {
  const left = testDirectory('server');
  const epoch = await withServer(async (server) => {
    const { id } = await openSession(server.client, server.directory);
    await runTurn(server.client, id, 'say hello');
    const version = await server.client.call(endpoints.getVersion, {});
    await server.end('SIGKILL');
    fs.cpSync(server.directory, left, { recursive: true });
    return version.epoch;
  });
  for (const name of [WAL_FILE, ANCHOR_FILE]) fs.rmSync(path.join(left, name));
  const { client } = await testDemo({ directory: left });
  const text = `the events after 0 may be lost: ${ANCHOR_FILE} was damaged or removed`;
  const health = await client.call(endpoints.getHealth, {});
  expect(health.status).toBe('degraded');
  expect(health.checks.store.detail).toContain(text);
  const events_lost = { after_seq: 0, up_to_seq: null };
  expect(await client.call(endpoints.getRecovery, {})).toMatchObject({ events_lost });
  const events = await client.call(endpoints.replayEvents, {});
  expect(events.find(({ kind }) => kind === 'runtime.recovered')?.payload).toMatchObject({
    recovery: { events_lost },
  });
  const version = await client.call(endpoints.getVersion, {});
  expect(version.epoch).not.toBe(epoch);
});
