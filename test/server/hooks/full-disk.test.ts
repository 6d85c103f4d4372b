import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { configSchema } from '../../../src/core/config/schema.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { Receiver } from '../../support/hooks/receiver.ts';
import { testRuntime } from '../../support/runtime.ts';
import { scripted } from '../../support/scripted-provider.ts';
import { systemError, testDisk } from '../../support/store.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';

test('A hook that is added while the disk is full starts once the disk has room.', async () => {
  const receiver = await new Receiver().open();
  onTestFinished(() => receiver[Symbol.asyncDispose]());
  const secret_file = path.join(testDirectory('hooks'), 'secret');
  fs.writeFileSync(secret_file, 'a secret of 32 characters or more', { mode: 0o600 });
  const disk = testDisk();
  const { client, runtime, directory, logLines } = await testRuntime({
    ...scripted(),
    fs: disk.fs,
  });
  const { id: session_id } = await openSession(client, directory);
  const accept = disk.onWrite;
  disk.onWrite = () => {
    throw systemError('ENOSPC');
  };
  const hook = { name: 'post', kinds: ['session.updated'], url: receiver.url, secret_file };
  runtime.reload(() => configSchema.parse({ hooks: [hook] }));
  await expectEventually(() =>
    logLines().filter(({ hook: of, level }) => of === 'post' && level === 'error'),
  ).not.toEqual([]);
  disk.onWrite = accept;
  await expectEventually(async () => (await client.call(endpoints.listHooks, {}))[0]?.state).toBe(
    'idle',
  );
  await client.call(endpoints.updateSession, { params: { session_id }, body: { title: 'one' } });
  await receiver.until(1);
});

test('An event that was delivered while the disk is full is not delivered again.', async () => {
  const receiver = await new Receiver().open();
  onTestFinished(() => receiver[Symbol.asyncDispose]());
  const secret_file = path.join(testDirectory('hooks'), 'secret');
  fs.writeFileSync(secret_file, 'a secret of 32 characters or more', { mode: 0o600 });
  const disk = testDisk();
  const hook = { name: 'post', kinds: ['session.updated'], url: receiver.url, secret_file };
  const { client, directory, logLines } = await testRuntime({
    ...scripted(),
    config: { hooks: [hook] },
    fs: disk.fs,
  });
  const { id: session_id } = await openSession(client, directory);
  const accept = disk.onWrite;
  receiver.answer = (_got, reply) => {
    disk.onWrite = () => {
      throw systemError('ENOSPC');
    };
    reply.send(204);
  };
  await client.call(endpoints.updateSession, { params: { session_id }, body: { title: 'one' } });
  const refused = () =>
    logLines().filter(({ hook: of, level }) => of === 'post' && level === 'error').length;
  await expectEventually(refused).toBeGreaterThan(1);
  disk.onWrite = accept;
  await expectEventually(async () => {
    const [one] = await client.call(endpoints.listHooks, {});
    return [one?.state, one?.delivered];
  }).toEqual(['idle', 1]);
  expect(receiver.got).toHaveLength(1);
});
