import { expect, test } from 'vitest';
import type { AppServer } from '../../../src/agents/codex/app-server.ts';
import { SharedServer } from '../../../src/agents/codex/shared-server.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const { signal } = new AbortController();

class FakeServer {
  readonly pid = 7;
  hasRoutes = false;
  retired = false;
  readonly #gone = Promise.withResolvers<string>();
  readonly gone = this.#gone.promise;
  ended = false;
  lost = false;

  isLost(): boolean {
    return this.lost;
  }

  retire(): void {
    this.retired = true;
  }

  async end(): Promise<void> {
    this.ended = true;
    this.#gone.resolve('was ended');
  }
}

function setUp() {
  const clock = new ManualClock();
  const started: FakeServer[] = [];
  const shared = new SharedServer(clock, async () => {
    const server = new FakeServer();
    started.push(server);
    return server as unknown as AppServer;
  });
  return { clock, started, shared };
}

test('One server starts for all sessions and stays for two seconds after the last one.', async () => {
  const { clock, started, shared } = setUp();
  const leases = await Promise.all([shared.lease(signal), shared.lease(signal)]);
  expect(shared.pid).toBe(7);
  for (const lease of leases) await lease.release(0);
  clock.advance(1999);
  await (await shared.lease(signal)).release(0);
  clock.advance(1999);
  expect(started.map(({ ended }) => ended)).toEqual([false]);
  clock.advance(1);
  expect(started.map(({ ended }) => ended)).toEqual([true]);
  await shared.lease(signal);
  expect(started).toHaveLength(2);
});

test('The server stays if a session arrives while the last one leaves.', async () => {
  const { clock, started, shared } = setUp();
  const leaving = (await shared.lease(signal)).release(0);
  await shared.lease(signal);
  await leaving;
  clock.advance(60_000);
  expect(started.map(({ ended }) => ended)).toEqual([false]);
});

test('The server stays if a session arrives after two sessions have left at once.', async () => {
  const { clock, started, shared } = setUp();
  const leases = [await shared.lease(signal), await shared.lease(signal)];
  await Promise.all(leases.map((lease) => lease.release(0)));
  await shared.lease(signal);
  clock.advance(60_000);
  expect(started.map(({ ended }) => ended)).toEqual([false]);
});

test('The server stops at once with its last session if a turn is still unfinished.', async () => {
  const { started, shared } = setUp();
  const lease = await shared.lease(signal);
  if (started[0]) started[0].hasRoutes = true;
  await lease.release(0);
  expect(started[0]?.ended).toBe(true);
});

test('A retired server stops with its last session, and new sessions get another server.', async () => {
  const { started, shared } = setUp();
  const lease = await shared.lease(signal);
  await shared.retire();
  await shared.lease(signal);
  expect(started.map(({ retired, ended }) => [retired, ended])).toEqual([
    [true, false],
    [false, false],
  ]);
  await lease.release(0);
  expect(started.map(({ ended }) => ended)).toEqual([true, false]);
});

test('A lost server is replaced once it has stopped.', async () => {
  const { started, shared } = setUp();
  const lease = await shared.lease(signal);
  const [lost] = started;
  const end = Promise.withResolvers<void>();
  if (lost) Object.assign(lost, { lost: true, end: () => end.promise });
  const next = Promise.all([shared.lease(signal), shared.lease(signal)]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(started).toHaveLength(1);
  end.resolve();
  expect((await next).map(({ server }) => server)).toEqual([started[1], started[1]]);
  await lease.release(0);
  expect(started.map(({ ended }) => ended)).toEqual([false, false]);
});

test('The server stops if the only session gives up during the start.', async () => {
  const start = Promise.withResolvers<AppServer>();
  const clock = new ManualClock();
  const shared = new SharedServer(clock, () => start.promise);
  const impatient = new AbortController();
  const lease = shared.lease(impatient.signal);
  impatient.abort(new Error('enough'));
  await expect(lease).rejects.toThrow('enough');
  const server = new FakeServer();
  start.resolve(server as unknown as AppServer);
  await start.promise;
  await Promise.resolve();
  clock.advance(2000);
  expect(server.ended).toBe(true);
});

test('The server is started again after a failed start.', async () => {
  let tries = 0;
  const server = new FakeServer() as unknown as AppServer;
  const shared = new SharedServer(new ManualClock(), async () => {
    if (++tries === 1) throw new Error('not today');
    return server;
  });
  await expect(shared.lease(signal)).rejects.toThrow('not today');
  expect((await shared.lease(signal)).server).toBe(server);
});
