import { it } from 'vitest';
import type { Goal } from '../../../../src/api/goals.ts';
import { noFailpoints } from '../../../../src/core/lib/failpoint.ts';
import { CheckRunner } from '../../../../src/server/conversations/goals/check-runner.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { testStore } from '../../../support/memory-store.ts';

it('A check whose row cannot be read is logged, and ends no server.', async () => {
  const { db, clock } = await testStore();
  const logged: string[] = [];
  const runner = new CheckRunner<Goal>({
    db,
    clock,
    failpoint: noFailpoints,
    logger: { error: (_fields: object, text: string) => logged.push(text) } as never,
    processes: {} as never,
    owner: {
      active: () => {
        throw new Error('the row is damaged');
      },
      checking: () => [],
    } as never,
  });
  runner.open();
  runner.start('sess_1');
  await expectEventually(() => logged).toEqual(['cannot run a check']);
});
