import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { hasSandbox, required } from '../../../support/sandbox/available.ts';
import { openSession } from '../../../support/turns.ts';
import {
  commit,
  create,
  git,
  testStage,
  read,
  type Stage,
  write,
} from '../../../support/worktrees/work.ts';

const SCRIPT = '.cadre/worktree-init.sh';

/** Creates a worktree, in which an init script runs in a sandbox. */
async function createWith(stage: Stage, script: string) {
  write(stage.repo, { [SCRIPT]: script });
  commit(stage.repo, 'with a script');
  return create(stage, { run_init_script: true });
}

describe.skipIf(!hasSandbox)('an init script in a sandbox', () => {
  test('An init script writes the worktree, reads the main worktree, and sees no other files.', async () => {
    const stage = await testStage({ config: required() });
    const script = `cat '${stage.repo}/a.txt' > copy; echo x > '${stage.repo}/new'; echo x > ~/kept && echo home
cat '${stage.directory}/auth/token'; git status --short; git log -1 --format=%s; true\n`;
    const { init_script, path: directory } = await createWith(stage, script);
    expect(init_script).toMatchObject({ status: 'completed', exit_code: 0 });
    expect(read(directory, 'copy')).toBe('one\n');
    expect(fs.existsSync(path.join(stage.repo, 'new'))).toBe(false);
    const { output_tail } = init_script;
    expect(output_tail).toMatch(/home\n/);
    expect(output_tail).toMatch(/auth\/token: No such file/);
    expect(output_tail).toMatch(/\?\? copy\nwith a script\n/);
  });

  test('The init script of a worktree for a session with its own sandbox runs in that sandbox.', async () => {
    const stage = await testStage();
    const { id: session } = await openSession(stage.client, stage.repo, {
      sandbox: { mode: 'require' },
    });
    const script = `test ! -e '${stage.directory}/auth/token'\n`;
    const { init_script } = await createWith({ ...stage, session }, script);
    expect(init_script).toMatchObject({ status: 'completed', exit_code: 0 });
  });

  test('A server without the class "init" runs init scripts without a sandbox.', async () => {
    const stage = await testStage({ config: required({ children: ['tools'] }) });
    const script = `test -e '${stage.directory}/auth/token'\n`;
    const { init_script } = await createWith(stage, script);
    expect(init_script).toMatchObject({ status: 'completed', exit_code: 0 });
  });
});

test.skipIf(!hasSandbox).each([
  ['With the sandbox, a filter of git writes only the new worktree.', required(), ['inside']],
  ['Without the sandbox, a filter of git also writes other files.', {}, ['inside', 'outside']],
])('%s', async (_title, config, written) => {
  const stage = await testStage({ config });
  const outside = path.join(stage.directory, 'outside');
  write(stage.repo, { '.gitattributes': '*.up filter=up\n', 'one.up': '' });
  commit(stage.repo, 'with attributes');
  git(stage.repo, 'config', 'filter.up.smudge', `touch inside '${outside}'; cat`);
  const body = { repo_root: stage.repo };
  const { brings } = await stage.client.call(endpoints.lookAtBrought, { body });
  const sha256 = brings[0]?.sha256 ?? '';
  await stage.client.call(endpoints.trustContent, { body: { ...body, sha256 } });
  const { path: directory } = await create(stage);
  const files = { inside: path.join(directory, 'inside'), outside };
  const found = Object.entries(files).filter(([, file]) => fs.existsSync(file));
  expect(found.map(([name]) => name)).toEqual(written);
});
