import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { carriersOf } from '../../src/children/identity.ts';
import { ManualClock } from '../unit/support/manual-clock.ts';
import { expectEventually } from '../unit/support/expect-eventually.ts';
import {
  branches,
  commit,
  create,
  kindsOf,
  known,
  onStage,
  read,
  type Stage,
  write,
} from './support/work.ts';

const SCRIPT = '.cadre/worktree-init.sh';

function withScript({ repo }: Stage, script: string, mode = 0o644): void {
  write(repo, { [SCRIPT]: script });
  fs.chmodSync(path.join(repo, SCRIPT), mode);
  commit(repo, 'with a script');
}

/** Nothing is left, and nothing was told. */
async function expectNothing(stage: Stage): Promise<void> {
  expect([branches(stage.repo), known(stage.repo)]).toEqual([['main'], []]);
  expect(await stage.client.call(endpoints.listWorktrees, { query: {} })).toEqual([]);
  expect(await kindsOf(stage)).toEqual([]);
}

describe('the init script', () => {
  test('runs in the new worktree, knows its names, and the end of what it prints is kept.', () =>
    onStage(async (stage) => {
      withScript(
        stage,
        'echo "$CADRE_WORKTREE_NAME $CADRE_WORKTREE_BRANCH"; echo out >&2; pwd > where\n',
      );
      const made = await create(stage);
      expect(made.init_script).toMatchObject({ status: 'completed', exit_code: 0 });
      expect(made.init_script.output_tail).toContain('tree cadre/tree\n');
      expect(made.init_script.output_tail).toContain('out\n');
      expect(read(made.path, 'where').trim()).toBe(made.path);
    }));

  test('may be of any language, need not be committed, and gets no keys.', () =>
    onStage(async (stage) => {
      process.env.SOME_API_KEY = 'secret';
      try {
        write(stage.repo, { [SCRIPT]: '#!/usr/bin/env -S cat /proc/self/environ\n' });
        fs.chmodSync(path.join(stage.repo, SCRIPT), 0o755);
        const { init_script } = await create(stage);
        expect(init_script.status).toBe('completed');
        expect(init_script.output_tail).toContain('CADRE_WORKTREE_ID=');
        expect(init_script.output_tail).not.toContain('SOME_API_KEY');
      } finally {
        delete process.env.SOME_API_KEY;
      }
    }));

  test('does not run where that is not wanted.', () =>
    onStage(async (stage) => {
      withScript(stage, 'touch ran; exit 1\n');
      const made = await create(stage, { run_init_script: false });
      expect(made.init_script.status).toBe('off');
      expect(fs.existsSync(path.join(made.path, 'ran'))).toBe(false);
    }));

  test('that fails leaves no half worktree, and the refusal has the end of what it printed.', () =>
    onStage(async (stage) => {
      withScript(stage, 'touch x; git commit -q --allow-empty -m x; echo no compiler; exit 3\n');
      await expect(create(stage)).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringMatching(/ended with 3 \([\s\S]*no compiler\): mend it/),
      });
      await expectNothing(stage);
      expect((await create(stage, { run_init_script: false })).created).toBe(true);
    }));

  test('that takes longer than ten minutes is ended with all it started, and leaves no half worktree.', () => {
    const clock = new ManualClock();
    return onStage(
      async (stage) => {
        const started = path.join(stage.directory, 'started');
        withScript(stage, `sleep 300 & touch '${started}'; wait\n`);
        const making = create(stage);
        const refused = making.catch((error: unknown) => error);
        await expectEventually(() => fs.existsSync(started)).toBe(true);
        clock.advance(10 * 60_000);
        // Ending a group looks again and again whether it is gone.
        const ticking = setInterval(() => clock.advance(100), 5);
        const error = await refused.finally(() => clearInterval(ticking));
        expect(error).toMatchObject({ message: expect.stringContaining('ran for 10 minutes') });
        await expectNothing(stage);
        expect(carriersOf('CADRE_WORKTREE_NAME=tree')).toEqual([]);
      },
      { clock },
    );
  });
});
