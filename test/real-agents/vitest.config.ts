import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { scaled } from '../support/patience.ts';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const isPart = process.env.AGENTS === 'part';

/** Parts of the titles of the tests that run for every change. */
const titles = [
  'The deltas of a message add up to its whole text',
  'The turn continues when its approval is accepted',
  'keeps the first part of the text',
  'After a SIGKILL in the middle of a turn',
  'and resume with their history',
  'a usage limit of',
];

// A title that was reworded would silently leave its test out.
const sources = globSync('test/{real-agents/*.test,agents/describe-provider}.ts');
const texts = sources.map((file) => readFileSync(file, 'utf8'));
for (const title of titles)
  if (!texts.some((text) => text.includes(title)))
    throw new Error(`no test of real agents has "${title}" in its title`);

/** Tests that check an agent of each kind in a minute, for every change. */
const part = {
  include: [
    'test/real-agents/{claude,codex}-contract.test.ts',
    'test/real-agents/{many,limits}.test.ts',
  ],
  testNamePattern: new RegExp(titles.join('|')),
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
