import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Process } from '../../../../src/api/processes.ts';
import type { Worktree } from '../../../../src/api/worktrees.ts';
import type { Health } from '../../../../src/api/runtime.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { hasSandbox, required } from '../../../support/sandbox/available.ts';
import { type Harness, testHarness } from '../../../support/sessions/harness.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { makeRepository } from '../../../support/worktrees/work.ts';

/** Opens a harness whose commands run in a sandbox, once the machine is probed. */
async function open(sandbox: Record<string, unknown>): Promise<Harness> {
  const harness = await testHarness({ config: required(sandbox) });
  const level = async () => (await harness.get<Health>('/v1/health')).body.sandbox?.level;
  await expectEventually(level).toBe('full');
  return harness;
}

/** Calls the tool in a running turn of a new session with a permission mode. */
async function call(harness: Harness, cwd: string, permission_mode: string | null) {
  const session: Session = await harness.open({ permission_mode, cwd });
  await harness.startTurn(session);
  const args = { command: 'echo ran', wait_ms: 30_000 };
  const running = harness.callTool<{ stdout_tail: string }>(session, 'cadre_process_run', args);
  return { session, running };
}

describe.skipIf(!hasSandbox)('a command of an agent in a sandbox', () => {
  test('The approval of a command says what its sandbox allows.', async () => {
    await using root = tempDirectory('root');
    const harness = await open({ network: 'none', write: ['/srv/cache'] });
    const { session, running } = await call(harness, root.path, null);
    const approval = await harness.asked(session.id);
    expect(approval.details).toContainEqual({
      type: 'input',
      name: 'sandbox',
      value: `full: the command writes ${root.path}, /srv/cache, and reaches no network`,
    });
    await harness.decide(approval, 'decline');
    expect(await running).toMatchObject({ ok: false });
  });

  test('With auto_allow, a command in a full sandbox without a network needs no approval, unless the mode demands one.', async () => {
    await using root = tempDirectory('root');
    const harness = await open({ network: 'none', auto_allow: true });
    for (const mode of [null, 'workspace_write']) {
      const { running } = await call(harness, root.path, mode);
      expect(await running).toMatchObject({ ok: true, result: { stdout_tail: 'ran\n' } });
    }
    const { session, running } = await call(harness, root.path, 'require_approval');
    await harness.decide(await harness.asked(session.id), 'decline');
    expect(await running).toMatchObject({ ok: false });
    const refused = await call(harness, root.path, 'read_only');
    expect((await refused.running).error).toMatchObject({ code: 'unauthorized' });
  });

  test('With auto_allow, a command that reaches the network needs an approval.', async () => {
    await using root = tempDirectory('root');
    const harness = await open({ network: 'all', auto_allow: true });
    const { session, running } = await call(harness, root.path, null);
    await harness.decide(await harness.asked(session.id), 'decline');
    expect(await running).toMatchObject({ ok: false });
  });

  test('An agent publishes a port of its worktree, and no other port.', async () => {
    await using directory = tempDirectory('repository');
    const repository = makeRepository(path.join(directory.path, 'repository'));
    const harness = await open({ network: 'hosts' });
    const mode = { permission_mode: 'full_access' };
    const inside = await harness.open({
      ...mode,
      cwd: repository,
      worktree: { worktree_name: 'w' },
    });
    const outside = await harness.open({ ...mode, cwd: repository });
    for (const one of [inside, outside]) await harness.startTurn(one);
    const { body: worktree } = await harness.get<Worktree>(`/v1/worktrees/${inside.worktree_id}`);
    const publish = (session: Session, port: number) =>
      harness.callTool<{ process: Process }>(session, 'cadre_process_run', {
        command: 'true',
        ports: [port],
      });
    const own = worktree.port_base ?? 0;
    const published = await publish(inside, own);
    expect(published).toMatchObject({ ok: true, result: { process: { ports: [own] } } });
    for (const port of [own - 1, own + worktree.port_count, 5432])
      expect((await publish(inside, port)).error).toMatchObject({
        code: 'bad_request',
        message: expect.stringContaining(
          `use a port from ${own} to ${own + worktree.port_count - 1}`,
        ),
      });
    expect((await publish(outside, own)).error).toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('leave the ports out'),
    });
  });
});
