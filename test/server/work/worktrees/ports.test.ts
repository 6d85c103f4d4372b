import { once } from 'node:events';
import net from 'node:net';
import { expect, test } from 'vitest';
import type { Worktree } from '../../../../src/api/worktrees.ts';
import { ranTo, stdout } from '../../../support/processes/work.ts';
import {
  commit,
  create,
  letGo,
  restore,
  type WorktreeHarness,
  write,
  testWorktreeHarness,
} from '../../../support/worktrees/work.ts';

/** Returns a configuration with two blocks of three ports. Tests that run at once use different blocks. */
function twoBlocks(first: number) {
  return { config: { worktrees: { port_first: first, port_last: first + 6, port_block: 3 } } };
}

function named(harness: WorktreeHarness, worktree_name: string): Promise<Worktree> {
  return create(harness, { worktree_name });
}

test('A worktree has its own ports while it exists, and none without a free block.', async () => {
  const harness = await testWorktreeHarness(twoBlocks(18_100));
  const made = await Promise.all(['a', 'b', 'c'].map((name) => named(harness, name)));
  const bases = made.map(({ port_base }) => port_base);
  expect(new Set(bases)).toEqual(new Set([18_100, 18_103, null]));
  for (const { port_base, port_count } of made) expect(port_count).toBe(port_base === null ? 0 : 3);
  const gone = made.find(({ port_base }) => port_base !== null) as Worktree;
  write(gone.path, { work: 'x' });
  await letGo(harness, gone);
  expect((await named(harness, 'd')).port_base).toBe(gone.port_base);
  expect(await restore(harness, gone)).toMatchObject({
    port_base: null,
    port_count: 0,
  });
});

test.for(['127.0.0.1', '0.0.0.0'])(
  'A worktree gets no port that a program listens on at %s, and has the same ports after a restore.',
  async (host) => {
    const harness = await testWorktreeHarness(twoBlocks(18_110));
    const server = net.createServer().listen(18_112, host);
    await once(server, 'listening');
    try {
      const first = await named(harness, 'first');
      expect(first.port_base).toBe(18_113);
      expect((await named(harness, 'second')).port_base).toBe(null);
      write(first.path, { work: 'x' });
      await letGo(harness, first);
      expect(await restore(harness, first)).toMatchObject({ port_base: 18_113, port_count: 3 });
    } finally {
      server.close();
    }
  },
);

test('Only the init script and the programs of a worktree get its ports as variables.', async () => {
  const harness = await testWorktreeHarness(twoBlocks(18_120));
  const show = 'echo "$CADRE_PORT_BASE/$CADRE_PORT_COUNT"';
  write(harness.repo, { '.cadre/worktree-init.sh': show });
  commit(harness.repo, 'with a script');
  const { init_script, port_base, path } = await create(harness, { run_init_script: true });
  const ports = `${port_base}/3\n`;
  expect(init_script.output_tail).toBe(ports);
  const inside = { session_id: harness.session, cwd: `${path}/sub` };
  expect(await stdout(harness, await ranTo(harness, show, inside))).toBe(ports);
  const outside = { session_id: harness.session, cwd: harness.repo };
  expect(await stdout(harness, await ranTo(harness, show, outside))).toBe('/\n');
});
