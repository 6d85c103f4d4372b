import { describe, expect, test } from 'vitest';
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

function stage() {
  const clock = new ManualClock();
  const started: FakeServer[] = [];
  const shared = new SharedServer(clock, async () => {
    const server = new FakeServer();
    started.push(server);
    return server as unknown as AppServer;
  });
  return { clock, started, shared };
}

describe('the server that all share', () => {
  test('is started once for all who come, and lingers a little for the next.', async () => {
    const { clock, started, shared } = stage();
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

  test('stays for one who comes while the last one leaves.', async () => {
    const { clock, started, shared } = stage();
    const leaving = (await shared.lease(signal)).release(0);
    await shared.lease(signal);
    await leaving;
    clock.advance(60_000);
    expect(started.map(({ ended }) => ended)).toEqual([false]);
  });

  test('ends at once with the last one where a turn was left behind.', async () => {
    const { started, shared } = stage();
    const lease = await shared.lease(signal);
    if (started[0]) started[0].hasRoutes = true;
    await lease.release(0);
    expect(started[0]?.ended).toBe(true);
  });

  test('makes way for a new one, and ends with the last who used it.', async () => {
    const { started, shared } = stage();
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

  test('makes way for a new one where it is lost, which starts once it has ended.', async () => {
    const { started, shared } = stage();
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

  test('is let go by one who gives up while it starts.', async () => {
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

  test('that could not be started is tried again.', async () => {
    let tries = 0;
    const server = new FakeServer() as unknown as AppServer;
    const shared = new SharedServer(new ManualClock(), async () => {
      if (++tries === 1) throw new Error('not today');
      return server;
    });
    await expect(shared.lease(signal)).rejects.toThrow('not today');
    expect((await shared.lease(signal)).server).toBe(server);
  });
});
