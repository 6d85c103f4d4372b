import { expect, test } from 'vitest';
import { AppError } from '../../../src/api/errors.ts';
import type { Servers } from '../../../src/client/servers.ts';
import { JoinedOverview } from '../../../src/frontends/tui/joined-overview.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';

test('The screen of several servers shows why the servers cannot be listed.', async () => {
  const servers = {
    list: () => Promise.reject(new AppError('unreachable', 'the fleet does not respond')),
    streamEvents: async function* () {
      await new Promise(() => undefined);
      yield* [];
    },
  };
  const overview = new JoinedOverview(servers as unknown as Servers, new ManualClock());
  overview.start();
  await expectEventually(() => overview.connection.get()).toEqual({
    state: 'refused',
    why: 'the fleet does not respond',
  });
  overview.stop();
});

test('A server that cannot be listed although its events arrive is listed again.', async () => {
  const clock = new ManualClock();
  const client = {
    ask: () => Promise.resolve({ value: [], headers: {} }),
    call: () => Promise.resolve([]),
  };
  let asked = 0;
  const servers = {
    list: () => Promise.resolve([{ name: 'a', url: 'http://a' }]),
    named: () => Promise.resolve({ name: 'a', client: ++asked > 2 ? client : null }),
    streamEvents: async function* () {
      yield { node: 'a', notice: { state: 'reachable' } };
      await new Promise(() => undefined);
    },
  };
  const overview = new JoinedOverview(servers as unknown as Servers, clock);
  overview.start();
  const state = () => overview.nodes.get()[0]?.state;
  for (const count of [1, 2]) {
    await expectEventually(() => clock.waiting).toBe(2);
    expect(asked).toBe(count);
    expect(state()).toBe('reading');
    clock.advance(2000);
  }
  await expectEventually(state).toBe('live');
  overview.stop();
});
