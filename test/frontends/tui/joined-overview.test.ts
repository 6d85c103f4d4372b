import { test } from 'vitest';
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
