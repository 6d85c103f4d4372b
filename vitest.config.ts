import { defineConfig } from 'vitest/config';
import { WORKERS } from './test/support/patience.ts';
import { SlowestFirst } from './test/support/slowest-first.ts';
import { smallForks } from './test/support/workers.ts';

// To start a process, Linux copies the page tables of all that malloc has given out: freed memory has to go back.
process.env.MALLOC_MMAP_THRESHOLD_ ??= '65536';
process.env.MALLOC_TRIM_THRESHOLD_ ??= '131072';

export default defineConfig({
  // As in the bundle: React's build for development does twice the work.
  oxc: { jsx: { development: false } },
  test: {
    env: { NODE_ENV: 'production' },
    include: ['test/**/*.test.{ts,tsx}'],
    exclude: [
      'test/real-agents/**',
      'test/fleet/nats/**',
      // What kills, floods or goes through everything: `make campaigns`.
      'test/campaigns/**',
    ],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/record-answers.ts', 'test/support/limits.ts'],
    reporters: ['default', './test/support/watchdog.ts'],
    teardownTimeout: 60_000,
    retry: 0,
    pool: smallForks,
    // V8's helpers take a core from the tests: the collector's, and those that optimise SQLite beyond what a test needs.
    execArgv: [
      '--max-semi-space-size=16',
      '--no-parallel-scavenge',
      '--v8-pool-size=1',
      '--wasm-num-compilation-tasks=1',
      '--no-wasm-inlining',
    ],
    maxWorkers: WORKERS,
    sequence: { sequencer: SlowestFirst },
    // What a file changes of its process it takes back; so loading the sources anew for each buys nothing.
    isolate: false,
    restoreMocks: true,
    unstubEnvs: true,
  },
});
