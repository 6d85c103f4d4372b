import { defineConfig } from 'vitest/config';
import { SlowestFirst } from './test/support/slowest-first.ts';
import { smallForks } from './test/support/workers.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    exclude: ['test/agents/**', 'test/campaigns/api/**'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/check-answers.ts', 'test/support/limits.ts'],
    reporters: ['default', './test/support/watchdog.ts'],
    teardownTimeout: 60_000,
    retry: 0,
    pool: smallForks,
    // Most tests wait more than they compute; by itself vitest leaves one of two cores alone.
    maxWorkers: 2,
    sequence: { sequencer: SlowestFirst },
    // What a file changes of its process it takes back; so loading the sources anew for each buys nothing.
    isolate: false,
    restoreMocks: true,
    unstubEnvs: true,
  },
});
