import { defineConfig } from 'vitest/config';
import { scaled } from '../../support/patience.ts';

const isPart = process.env.FLEET === 'part';

/** What shows in less than a minute that a member joins, is fenced, answers and is guarded by permissions. */
const part = { include: ['test/fleet/engine/{joining,requests,permissions}.test.ts'] };

export default defineConfig({
  test: {
    include: ['test/fleet/engine/**/*.test.ts', 'test/campaigns/fleet/**/*.test.ts'],
    ...(isPart && part),
    globalSetup: ['test/support/global-setup.ts'],
    reporters: [isPart ? 'default' : 'verbose', './test/support/watchdog.ts'],
    testTimeout: scaled(60_000),
    hookTimeout: scaled(60_000),
    retry: 0,
    pool: 'forks',
    maxWorkers: 2,
  },
});
