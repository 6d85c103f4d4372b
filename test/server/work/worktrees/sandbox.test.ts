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
  testWorktreeHarness,
  read,
  type WorktreeHarness,
  write,
} from '../../../support/worktrees/work.ts';

const SCRIPT = '.cadre/worktree-init.sh';

/** Creates a worktree, in which an init script runs in a sandbox. */
async function createWith(harness: WorktreeHarness, script: string) {
  write(harness.repo, { [SCRIPT]: script });
  commit(harness.repo, 'with a script');
  return create(harness, { run_init_script: true });
}

describe.skipIf(!hasSandbox)('an init script in a sandbox', () => {
  test('An init script writes the worktree, reads the main worktree, and sees no other files.', async () => {
    const harness = await testWorktreeHarness({ config: required() });
    const script = `cat '${harness.repo}/a.txt' > copy; echo x > '${harness.repo}/new'; echo x > ~/kept && echo home
cat '${harness.directory}/auth/token'; git status --short; git log -1 --format=%s; true\n`;
    const { init_script, path: directory } = await createWith(harness, script);
    expect(init_script).toMatchObject({ status: 'completed', exit_code: 0 });
    expect(read(directory, 'copy')).toBe('one\n');
    expect(fs.existsSync(path.join(harness.repo, 'new'))).toBe(false);
    const { output_tail } = init_script;
    expect(output_tail).toMatch(/home\n/);
    expect(output_tail).toMatch(/auth\/token: No such file/);
    expect(output_tail).toMatch(/\?\? copy\nwith a script\n/);
  });

  test('The init script of a worktree for a session with its own sandbox runs in that sandbox.', async () => {
    const harness = await testWorktreeHarness();
    const { id: session } = await openSession(harness.client, harness.repo, {
      sandbox: { mode: 'require' },
    });
    const script = `test ! -e '${harness.directory}/auth/token'\n`;
    const { init_script } = await createWith({ ...harness, session }, script);
    expect(init_script).toMatchObject({ status: 'completed', exit_code: 0 });
  });

  test('A server without the class "init" runs init scripts without a sandbox.', async () => {
    const harness = await testWorktreeHarness({ config: required({ children: ['tools'] }) });
    const script = `test -e '${harness.directory}/auth/token'\n`;
    const { init_script } = await createWith(harness, script);
    expect(init_script).toMatchObject({ status: 'completed', exit_code: 0 });
  });
});

test.skipIf(!hasSandbox).each([
  ['With the sandbox, a filter of git writes only the new worktree.', required(), ['inside']],
  ['Without the sandbox, a filter of git also writes other files.', {}, ['inside', 'outside']],
])('%s', async (_title, config, written) => {
  const harness = await testWorktreeHarness({ config });
  const outside = path.join(harness.directory, 'outside');
  write(harness.repo, { '.gitattributes': '*.up filter=up\n', 'one.up': '' });
  commit(harness.repo, 'with attributes');
  git(harness.repo, 'config', 'filter.up.smudge', `touch inside '${outside}'; cat`);
  const body = { repo_root: harness.repo };
  const { brings } = await harness.client.call(endpoints.lookAtBrought, { body });
  const sha256 = brings[0]?.sha256 ?? '';
  await harness.client.call(endpoints.trustContent, { body: { ...body, sha256 } });
  const { path: directory } = await create(harness);
  const files = { inside: path.join(directory, 'inside'), outside };
  const found = Object.entries(files).filter(([, file]) => fs.existsSync(file));
  expect(found.map(([name]) => name)).toEqual(written);
});
