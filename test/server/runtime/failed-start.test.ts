import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { type Clock, systemClock } from '../../../src/core/lib/clock.ts';
import { openRuntime, withRuntime } from '../../support/runtime.ts';
import { scripted } from '../../support/scripted-provider.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { testDisk } from '../../support/store.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession, runTurn } from '../../support/turns.ts';

/** A clock that counts the timers that have neither fired nor been disposed. */
function countingClock(): Clock & { running: () => number } {
  let running = 0;
  const counted = (begin: (ended: () => void) => Disposable): Disposable => {
    let isOver = false;
    running++;
    const end = () => {
      if (!isOver) running--;
      isOver = true;
    };
    const timer = begin(end);
    return {
      [Symbol.dispose]() {
        end();
        timer[Symbol.dispose]();
      },
    };
  };
  return {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic(),
    sleep: (ms, signal) => {
      running++;
      return systemClock.sleep(ms, signal).finally(() => running--);
    },
    after: (ms, fn) =>
      counted((end) =>
        systemClock.after(ms, () => {
          end();
          fn();
        }),
      ),
    every: (ms, fn) => counted(() => systemClock.every(ms, fn)),
    running: () => running,
  };
}

test('A start that fails in its last step ends its agents, timers and deliveries, and can be repeated.', async () => {
  const place = testDirectory('failed-start');
  const directory = path.join(place, 'data');
  const secret_file = path.join(place, 'secret');
  fs.writeFileSync(secret_file, 'a secret of 32 characters or more\n', { mode: 0o600 });
  const url = 'http://127.0.0.1:1/hook';
  const config = { hooks: [{ name: 'nobody', kinds: ['turn.completed'], url, secret_file }] };
  const before = await openRuntime(directory, { ...scripted(), config });
  const { id } = await openSession(before.client, directory);
  await runTurn(before.client, id, 'hello');
  const body = { input: [{ type: 'text' as const, text: 'later' }], at: Date.now() + 1 };
  await before.client.call(endpoints.addToQueue, { params: { session_id: id }, body });
  await before.stop();
  // The file of the registration is the last one that a start writes.
  const registration = path.join(directory, 'server.json');
  const disk = testDisk();
  disk.onWrite = (_file, bytes) => {
    fs.mkdirSync(path.join(registration, 'in-the-way'), { recursive: true });
    return bytes;
  };
  const clock = countingClock();
  const start = openRuntime(directory, { ...scripted(), config, clock, fs: disk.fs });
  await expect(start).rejects.toMatchObject({
    code: 'invalid',
    message: expect.stringContaining(registration),
  });
  expect(clock.running()).toBe(0);
  fs.rmSync(registration, { recursive: true });
  await withRuntime(
    async ({ client }) => {
      const params = { session_id: id };
      await expectEventually(
        async () => (await client.call(endpoints.listTurns, { params })).length,
      ).toBe(2);
    },
    { ...scripted(), directory, config },
  );
});
