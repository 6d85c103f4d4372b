import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/agents/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts', 'test/agents/install-all.ts'],
    reporters: ['verbose', './test/support/watchdog.ts'],
    testTimeout: 60_000,
    hookTimeout: 180_000,
    retry: 0,
    pool: 'forks',
  },
});
