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
  type Stage,
  write,
  testStage,
} from '../../../support/worktrees/work.ts';

/** Returns a configuration with two blocks of three ports. Tests that run at once use different blocks. */
function twoBlocks(first: number) {
  return { config: { worktrees: { port_first: first, port_last: first + 6, port_block: 3 } } };
}

function named(stage: Stage, worktree_name: string): Promise<Worktree> {
  return create(stage, { worktree_name });
}

test('A worktree has its own ports while it exists, and none without a free block.', async () => {
  const stage = await testStage(twoBlocks(18_100));
  const made = await Promise.all(['a', 'b', 'c'].map((name) => named(stage, name)));
  const bases = made.map(({ port_base }) => port_base);
  expect(new Set(bases)).toEqual(new Set([18_100, 18_103, null]));
  for (const { port_base, port_count } of made) expect(port_count).toBe(port_base === null ? 0 : 3);
  const gone = made.find(({ port_base }) => port_base !== null) as Worktree;
  write(gone.path, { work: 'x' });
  await letGo(stage, gone);
  expect((await named(stage, 'd')).port_base).toBe(gone.port_base);
  expect(await restore(stage, gone)).toMatchObject({
    port_base: null,
    port_count: 0,
  });
});

test.for(['127.0.0.1', '0.0.0.0'])(
  'A worktree gets no port that a program listens on at %s, and has the same ports after a restore.',
  async (host) => {
    const stage = await testStage(twoBlocks(18_110));
    const server = net.createServer().listen(18_112, host);
    await once(server, 'listening');
    try {
      const first = await named(stage, 'first');
      expect(first.port_base).toBe(18_113);
      expect((await named(stage, 'second')).port_base).toBe(null);
      write(first.path, { work: 'x' });
      await letGo(stage, first);
      expect(await restore(stage, first)).toMatchObject({ port_base: 18_113, port_count: 3 });
    } finally {
      server.close();
    }
  },
);

test('Only the init script and the programs of a worktree get its ports as variables.', async () => {
  const stage = await testStage(twoBlocks(18_120));
  const show = 'echo "$CADRE_PORT_BASE/$CADRE_PORT_COUNT"';
  write(stage.repo, { '.cadre/worktree-init.sh': show });
  commit(stage.repo, 'with a script');
  const { init_script, port_base, path } = await create(stage, { run_init_script: true });
  const ports = `${port_base}/3\n`;
  expect(init_script.output_tail).toBe(ports);
  const inside = { session_id: stage.session, cwd: `${path}/sub` };
  expect(await stdout(stage, await ranTo(stage, show, inside))).toBe(ports);
  const outside = { session_id: stage.session, cwd: stage.repo };
  expect(await stdout(stage, await ranTo(stage, show, outside))).toBe('/\n');
});
