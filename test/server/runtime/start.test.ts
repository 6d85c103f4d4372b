import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { configSchema } from '../../../src/core/config/schema.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { send } from '../../support/http/request.ts';
import { scaled } from '../../support/patience.ts';
import { ranTo } from '../../support/processes/work.ts';
import { openRuntime, type TestRuntime, withRuntime, testRuntime } from '../../support/runtime.ts';
import { scripted } from '../../support/scripted-provider.ts';
import { canMount } from '../../support/small-disk.ts';
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

test('A start on an address that no interface has is refused with the reason.', async () => {
  const directory = path.join(testDirectory('elsewhere'), 'data');
  const config = { server: { bind_address: '192.0.2.1:0' } };
  await expect(openRuntime(directory, { ...scripted(), config })).rejects.toMatchObject({
    code: 'invalid',
    message: expect.stringContaining(
      'cannot listen on 192.0.2.1:0: no network interface that is up has this address',
    ),
  });
});

const canUnshare = canMount && spawnSync('unshare', ['-rn', 'true']).status === 0;

test.skipIf(!canUnshare)('A start without /proc is refused with the reason.', () => {
  const { file, args } = selfCommand();
  const data = path.join(testDirectory('without-proc'), 'data');
  const serve = [file, ...args, '--data-dir', data, 'serve', '--demo', '--port', '0'];
  const hide = 'mount -t tmpfs tmpfs /proc && exec "$@"';
  const ended = spawnSync('unshare', ['-rm', 'sh', '-c', hide, 'sh', ...serve], {
    encoding: 'utf8',
    timeout: scaled(10_000),
  });
  expect(ended).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('/proc is missing: mount /proc'),
  });
});

test.skipIf(!canUnshare)(
  'A start while the loopback interface is down warns about it.',
  async () => {
    const { file, args } = selfCommand();
    const directory = testDirectory('down');
    const data = ['--data-dir', path.join(directory, 'data')];
    const serve = [file, ...args, ...data, 'serve', '--demo', '--port', '0'];
    const child = spawn('unshare', ['-rn', ...serve], { stdio: ['ignore', 'ignore', 'pipe'] });
    const exited = once(child, 'exit');
    let printed = '';
    for await (const line of createInterface({ input: child.stderr })) {
      printed += line;
      if (/listening on|loopback interface is down/.test(line)) break;
    }
    child.kill('SIGTERM');
    await exited;
    expect(printed).toContain('the loopback interface is down, so no client can connect');
  },
);

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
