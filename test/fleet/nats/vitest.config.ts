import { defineConfig } from 'vitest/config';
import { scaled } from '../../support/patience.ts';

const isPart = process.env.FLEET === 'part';

/**
 * The tests that show in a minute that a member joins, is fenced, answers, is protected by permissions, and loses
 * nothing.
 */
const part = {
  include: [
    'test/fleet/nats/{commands,joining,requests,permissions}.test.ts',
    'test/campaigns/fleet/fleet.test.ts',
  ],
};

export default defineConfig({
  test: {
    include: ['test/fleet/nats/**/*.test.ts', 'test/campaigns/fleet/**/*.test.ts'],
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
