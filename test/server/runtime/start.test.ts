import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { configSchema } from '../../../src/core/config/schema.ts';
import { send } from '../../support/http/request.ts';
import { ranTo } from '../../support/processes/work.ts';
import { openRuntime, type TestRuntime, withRuntime, testRuntime } from '../../support/runtime.ts';
import { scripted } from '../../support/scripted-provider.ts';
import { systemError, testDisk } from '../../support/store.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession, runTurn } from '../../support/turns.ts';

async function stop({ client, runtime }: TestRuntime): Promise<void> {
  client.close();
  await runtime.stop();
}

/** The children of this process: the keeper of each server that runs in it, and what those have started. */
function children(): string[] {
  const threads = fs.readdirSync('/proc/self/task');
  return threads.flatMap((thread) =>
    fs.readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  );
}

/** Fails unless a server can be started in a directory, with what it had stored. */
async function expectStarts(directory: string): Promise<void> {
  await withRuntime(
    async ({ client }) => {
      const { id } = await openSession(client, directory);
      expect((await runTurn(client, id, 'hello')).turn).toMatchObject({ status: 'completed' });
    },
    { ...scripted(), directory },
  );
}

test('A start that fails after all parts are built leaves no lock, keeper or registration.', async () => {
  const first = await testRuntime(scripted());
  const directory = path.join(testDirectory('second'), 'data');
  const bind_address = new URL(first.url).host;
  // The keeper of the first starts before its first process.
  await ranTo(first, 'true');
  const before = children();
  expect(before).not.toEqual([]);
  const second = openRuntime(directory, { ...scripted(), config: { server: { bind_address } } });
  await expect(second).rejects.toMatchObject({ code: 'conflict' });
  expect(fs.existsSync(path.join(directory, 'server.json'))).toBe(false);
  expect(children()).toEqual(before);
  await expectStarts(directory);
});

test('A start that fails during recovery leaves the directory usable for the next start.', async () => {
  const directory = path.join(testDirectory('recovery'), 'data');
  await stop(await openRuntime(directory, scripted()));
  const before = children();
  const disk = testDisk();
  disk.onWrite = () => {
    throw systemError('ENOSPC');
  };
  const second = openRuntime(directory, { ...scripted(), fs: disk.fs });
  await expect(second).rejects.toMatchObject({ code: 'storage_full' });
  expect(children()).toEqual(before);
  await expectStarts(directory);
});

test('A second stop equals the first one, and a reload during it changes nothing.', async () => {
  const directory = path.join(testDirectory('stop'), 'data');
  const given = await openRuntime(directory, scripted());
  given.client.close();
  const stopping = given.runtime.stop();
  expect(given.runtime.stop()).toBe(stopping);
  given.runtime.reload(() => configSchema.parse({ log: { level: 'silent' } }));
  await stopping;
  const messages = given.logLines().map(({ msg }) => msg);
  expect(messages.slice(-2)).toEqual(['stopping', 'stopped']);
  expect(fs.existsSync(path.join(directory, 'server.json'))).toBe(false);
});

test('A server is registered with its address, and its first events are the events of the start.', async () => {
  const { url, token, directory, client } = await testRuntime(scripted());
  const registered = JSON.parse(
    fs.readFileSync(path.join(directory, 'server.json'), 'utf8'),
  ) as object;
  expect(registered).toMatchObject({ url, pid: process.pid });
  const reply = await send(url, {
    path: '/v1/version',
    headers: { authorization: `Bearer ${token}` },
  });
  expect(reply.status).toBe(200);
  const events = await client.call(endpoints.replayEvents, { query: {} });
  expect(events.map(({ kind }) => kind)).toEqual(['runtime.started', 'runtime.recovered']);
});
