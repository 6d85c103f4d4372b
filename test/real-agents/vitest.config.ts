import { defineConfig } from 'vitest/config';
import { scaled } from '../support/patience.ts';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const isPart = process.env.AGENTS === 'part';

/** Tests that check an agent of each kind in a minute, for every change. */
const part = {
  include: [
    'test/real-agents/{claude,codex}-contract.test.ts',
    'test/real-agents/{many,limits}.test.ts',
  ],
  testNamePattern:
    /whole message|given, the agent goes on|beginning stays|SIGKILL in the middle|come back|usage limit/,
};

/** opencode takes by far the longest to start: begun last, its contract would run alone. */
class SlowestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) =>
      moduleId.includes('opencode-contract') ? 0 : 1;
    return Promise.resolve(files.toSorted((one, other) => place(one) - place(other)));
  }
}

export default defineConfig({
  test: {
    include: ['test/real-agents/**/*.test.ts'],
    ...(isPart && part),
    globalSetup: ['test/support/global-setup.ts'],
    reporters: [isPart ? 'default' : 'verbose', './test/support/watchdog.ts'],
    testTimeout: scaled(60_000),
    hookTimeout: scaled(180_000),
    retry: 0,
    pool: 'forks',
    // Agents are waited for more than they compute: two at once fit on two cores.
    maxWorkers: 2,
    sequence: { sequencer: SlowestFirst },
  },
});
