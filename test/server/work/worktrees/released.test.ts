import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { scaled } from '../../../support/patience.ts';
import { type TestServer, testServer } from '../../../support/server.ts';
import { testDirectory } from '../../../support/temp.ts';
import { branches, makeRepository, write } from '../../../support/worktrees/work.ts';

test.each(['worktree.archived', 'worktree.aside', 'worktree.unbranched'])(
  'A release that a SIGKILL cuts off at %s is answered again under its key, and the next server finishes its cleanup.',
  { timeout: scaled(60_000) },
  async (point) => {
    const place = testDirectory('released');
    const data = path.join(place, 'data');
    const repo_root = makeRepository(path.join(place, 'repo'));
    let server = await testServer({
      directory: data,
      env: { CADRE_FAILPOINTS: `${point}=kill` },
    });
    const { worktree, session } = await worktreeWithWork(server, repo_root);
    const params = { worktree_id: worktree.id };
    const release = () =>
      server.client.call(
        endpoints.releaseWorktree,
        { params, body: { session_id: session.id } },
        undefined,
        'the-key',
      );
    await expect(release()).rejects.toMatchObject({ code: 'unreachable' });
    await server.end('SIGKILL');
    server = await testServer({ directory: data });
    const answer = await release();
    expect(answer).toMatchObject({ active_claims: 0, claim: { session_id: session.id } });
    expect(answer.claim.released_at).not.toBeNull();
    const now = () => server.client.call(endpoints.getWorktree, { params });
    await expect
      .poll(now, { timeout: scaled(15_000) })
      .toMatchObject({ status: 'cleaned', cleanup_due_at: null });
    expect((await now()).archive_ref).not.toBeNull();
    expect(branches(repo_root)).toEqual(['main']);
    expect(await release()).toEqual(answer);
  },
);

test('A release whose cleanup fails is answered with the failure, and the next server finishes the cleanup.', async () => {
  const place = testDirectory('released');
  const data = path.join(place, 'data');
  const repo_root = makeRepository(path.join(place, 'repo'));
  const failing = await testServer({
    directory: data,
    env: { CADRE_FAILPOINTS: 'worktree.archived=throw' },
  });
  const { worktree, session } = await worktreeWithWork(failing, repo_root);
  const params = { worktree_id: worktree.id };
  const answer = await failing.client.call(endpoints.releaseWorktree, {
    params,
    body: { session_id: session.id },
  });
  expect(answer).toMatchObject({
    active_claims: 0,
    cleanup: {
      status: 'failed',
      diagnostics: [
        'the cleanup failed, the next start of the server repeats it: failpoint worktree.archived',
      ],
    },
  });
  expect(answer.claim.released_at).not.toBeNull();
  await failing.end('SIGTERM');
  const server = await testServer({ directory: data });
  await expect
    .poll(() => server.client.call(endpoints.getWorktree, { params }), {
      timeout: scaled(15_000),
    })
    .toMatchObject({ status: 'cleaned', cleanup_due_at: null });
});

async function worktreeWithWork({ client }: TestServer, repo_root: string) {
  const session = await client.call(endpoints.createSession, {
    body: { provider: 'acp', cwd: repo_root },
  });
  const worktree = await client.call(endpoints.createWorktree, {
    body: {
      source_session_id: session.id,
      worktree_name: 'one',
      deletion_policy: 'delete_on_last_claim',
    },
  });
  write(worktree.path, { 'new.txt': 'work' });
  return { session, worktree };
}
