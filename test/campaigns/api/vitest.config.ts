import { defineConfig } from 'vitest/config';
import { scaled } from '../../support/patience.ts';

export default defineConfig({
  test: {
    include: ['test/campaigns/api/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['verbose', './test/support/watchdog.ts'],
    // Schemathesis ends by itself; this is for one that hangs.
    testTimeout: scaled(15 * 60_000),
    hookTimeout: scaled(60_000),
    retry: 0,
    pool: 'forks',
    maxWorkers: 2,
  },
});
