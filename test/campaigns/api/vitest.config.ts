import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/campaigns/api/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['verbose', './test/support/watchdog.ts'],
    // Schemathesis ends by itself; this is for one that hangs.
    testTimeout: 15 * 60_000,
    hookTimeout: 60_000,
    retry: 0,
    pool: 'forks',
    maxWorkers: 2,
  },
});
