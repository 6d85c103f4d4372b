import path from 'node:path';
import { expect, test } from 'vitest';
import { scaled } from '../../support/patience.ts';
import { testRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { drawFrom, runProgram } from './programs.ts';
import { makeRepository } from '../../support/worktrees/work.ts';

/** How many programs: two in the suite, 1,000 by `make worktrees`. */
const PROGRAMS = Number(process.env.WORKTREE_PROGRAMS ?? 2);
/** The first program that runs, which continues a campaign that was stopped. */
const FROM = Number(process.env.WORKTREE_FROM ?? 0);

test(
  'Random work of eight sessions in two repositories loses no commit and no file.',
  async () => {
    const wanted = process.env.WORKTREE_SEED;
    const seed = wanted === undefined ? Date.now() % 2 ** 31 : Number(wanted);
    console.log(`WORKTREE_SEED=${seed} WORKTREE_PROGRAMS=${PROGRAMS} WORKTREE_FROM=${FROM}`);
    const draw = drawFrom(seed);
    const given = await testRuntime({ providers: [scriptedProvider()] });
    for (let program = 0; program < PROGRAMS; program += 1) {
      const ownSeed = draw(2 ** 31);
      if (program < FROM) continue;
      const repos = ['a', 'b'].map((name) =>
        makeRepository(path.join(given.directory, `repo-${program}${name}`)),
      );
      const run = runProgram(given, repos, drawFrom(ownSeed)).catch((error: unknown) => {
        throw new Error(`program ${program} of WORKTREE_SEED=${seed}`, { cause: error });
      });
      await expect(run).resolves.toBeUndefined();
      if ((program + 1) % 50 === 0) console.log(`${program + 1} programs`);
    }
  },
  scaled(Math.max(300_000, PROGRAMS * 20_000)),
);
