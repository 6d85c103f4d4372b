import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { Notifier } from '../../../src/frontends/service/notifier.ts';
import { runCadre } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { startServer, untilNothingCarries } from '../../support/server.ts';
import { canNotify, listen } from './notify-socket.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

const PATH = process.env.PATH ?? '';

describe.skipIf(!canNotify)('a service manager', () => {
  test('A service manager gets messages in order, and its variables are gone from the environment.', async () => {
    await using manager = await listen(testDirectory('notify'));
    const env: NodeJS.ProcessEnv = { PATH, NOTIFY_SOCKET: manager.path, WATCHDOG_USEC: '2000000' };
    const notifier = Notifier.takenFrom(env, { clock: systemClock, onTrouble: unexpected });
    expect(env).toEqual({ PATH });
    void notifier?.ready('here');
    void notifier?.reloading();
    void notifier?.ready('here\u001b[31m again\nand again');
    void notifier?.failed('it is\nover');
    await notifier?.stopping(1.5);
    expect(manager.messages()).toEqual([
      ['READY=1', 'STATUS=here'],
      ['RELOADING=1'],
      ['READY=1', 'STATUS=here again and again'],
      ['STATUS=it is over'],
      ['STOPPING=1', 'EXTEND_TIMEOUT_USEC=2000', 'STATUS=stopping'],
    ]);
  });

  test('A service manager gets two pings in each watchdog period while the store answers.', async () => {
    await using manager = await listen(testDirectory('notify'));
    const clock = new ManualClock();
    const env = { PATH, NOTIFY_SOCKET: manager.path, WATCHDOG_USEC: '60000000' };
    const troubles: string[] = [];
    const onTrouble = (message: string) => void troubles.push(message);
    const notifier = Notifier.takenFrom(env, { clock, onTrouble });
    let store = Promise.withResolvers<void>();
    let asked = 0;
    const prove = () => {
      asked++;
      return store.promise;
    };
    using _watch = notifier?.watch(prove, () => 'works');
    clock.advance(29_999);
    expect(asked).toBe(0);
    // While the store hangs, it gets one request, and no ping is sent.
    clock.advance(30_001);
    clock.advance(60_000);
    expect(asked).toBe(1);
    expect(manager.messages()).toEqual([]);
    store.resolve();
    await manager.expect('WATCHDOG=1');
    expect(manager.messages()).toEqual([['WATCHDOG=1', 'STATUS=works']]);
    store = Promise.withResolvers();
    const askedAgain = () => {
      clock.advance(30_000);
      return asked;
    };
    await expectEventually(askedAgain).toBe(2);
    store.reject(new Error('the disk is gone'));
    await expectEventually(() => troubles).toEqual(['no watchdog ping sent: the disk is gone']);
    expect(manager.messages()).toHaveLength(1);
  });

  test('Another process of the same service does not affect the watchdog.', () => {
    const clock = new ManualClock();
    const env = { PATH, NOTIFY_SOCKET: '/nowhere', WATCHDOG_USEC: '1000', WATCHDOG_PID: '1' };
    const notifier = Notifier.takenFrom(env, { clock, onTrouble: unexpected });
    let asked = 0;
    const prove = () => {
      asked++;
      return Promise.resolve();
    };
    using _watch = notifier?.watch(prove, String);
    clock.advance(10_000);
    expect(asked).toBe(0);
  });

  test('A missing service manager is reported, and does not stop the server.', async () => {
    const troubles: string[] = [];
    const onTrouble = (message: string) => void troubles.push(message);
    const env = { PATH, NOTIFY_SOCKET: '/nowhere/notify' };
    await Notifier.takenFrom(env, { clock: systemClock, onTrouble })?.ready('here');
    expect(troubles).toEqual([
      expect.stringMatching(/^cannot notify the service manager: .*systemd-notify exited with 1/),
    ]);
  });

  test('A service manager gets ready, reloading, pings and stopping; child processes get none of its variables.', async () => {
    await using manager = await listen(testDirectory('notify'));
    const env = { NOTIFY_SOCKET: manager.path, WATCHDOG_USEC: '400000' };
    await using directory = tempDirectory('server');
    const server = await startServer(directory.path, { env });
    try {
      await manager.expect(`STATUS=${server.url}: 0 turns, 0 processes`);
      expect(manager.messages()[0]?.[0]).toBe('READY=1');
      await manager.expect('WATCHDOG=1');
      const body = { command: 'env' };
      const { process: started } = await server.client.call(endpoints.createProcess, { body });
      const params = { process_id: started.process_id };
      const look = () => server.client.call(endpoints.getProcess, { params });
      await expectEventually(async () => (await look()).status).toBe('completed');
      const logs = await server.client.call(endpoints.getProcessLogs, { params, query: {} });
      expect(logs.stdout?.content).toContain('CADRE_PROCESS_ID=');
      expect(logs.stdout?.content).not.toMatch(/NOTIFY_SOCKET|WATCHDOG/);
      process.kill(server.pid, 'SIGHUP');
      await manager.expect('RELOADING=1');
      const readyAgain = () => manager.messages().filter(([first]) => first === 'READY=1').length;
      await expectEventually(readyAgain).toBe(2);
    } finally {
      await server.end('SIGTERM');
    }
    await manager.expect('STOPPING=1');
    await manager.expect('EXTEND_TIMEOUT_USEC=40000000');
    await untilNothingCarries(directory.path);
  });

  test('A service manager gets the reason of a failed start.', async () => {
    await using place = tempDirectory('notify');
    await using manager = await listen(place.path);
    const env = { NOTIFY_SOCKET: manager.path };
    const { code } = await runCadre(place.path, ['serve', '--bind', '0.0.0.0:0'], { env });
    expect(code).toBe(2);
    await manager.expect('STATUS=other machines can reach the address 0.0.0.0:0');
    expect(manager.messages().flat()).not.toContain('READY=1');
  });
});

test('A server without systemd-notify runs, and reports that messages are lost.', async () => {
  await using place = tempDirectory('notify');
  const troubles: string[] = [];
  const onTrouble = (message: string) => void troubles.push(message);
  const env = { PATH: place.path, NOTIFY_SOCKET: '/nowhere' };
  expect(Notifier.takenFrom(env, { clock: systemClock, onTrouble })).toBeNull();
  expect(troubles).toEqual([expect.stringContaining('systemd-notify not found on PATH')]);
});

test('A server without a service manager reports nothing.', () => {
  expect(Notifier.takenFrom({ PATH }, { clock: systemClock, onTrouble: unexpected })).toBeNull();
});

function unexpected(message: string): never {
  throw new Error(message);
}
