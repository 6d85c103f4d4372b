import { describe, expect, test } from 'vitest';
import type { Health } from '../../../../src/api/runtime.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { hasSandbox, required } from '../../../support/sandbox/available.ts';
import { type Stage, testStage } from '../../../support/sessions/stage.ts';
import { tempDirectory } from '../../../support/temp.ts';

/** Opens a stage whose commands run in a sandbox, once the machine is probed. */
async function open(sandbox: Record<string, unknown>): Promise<Stage> {
  const stage = await testStage({ config: required(sandbox) });
  const level = async () => (await stage.get<Health>('/v1/health')).body.sandbox?.level;
  await expectEventually(level).toBe('full');
  return stage;
}

/** Calls the tool in a running turn of a new session with a permission mode. */
async function call(stage: Stage, cwd: string, permission_mode: string | null) {
  const session: Session = await stage.open({ permission_mode, cwd });
  await stage.play(session);
  const args = { command: 'echo ran', wait_ms: 30_000 };
  const running = stage.callTool<{ stdout_tail: string }>(session, 'cadre_process_run', args);
  return { session, running };
}

describe.skipIf(!hasSandbox)('a command of an agent in a sandbox', () => {
  test('The approval of a command says what its sandbox allows.', async () => {
    await using root = tempDirectory('root');
    const stage = await open({ network: 'none', write: ['/srv/cache'] });
    const { session, running } = await call(stage, root.path, null);
    const approval = await stage.asked(session.id);
    expect(approval.details).toContainEqual({
      type: 'input',
      name: 'sandbox',
      value: `full: the command writes ${root.path}, /srv/cache, and reaches no network`,
    });
    await stage.decide(approval, 'decline');
    expect(await running).toMatchObject({ ok: false });
  });

  test('With auto_allow, a command in a full sandbox without a network needs no approval, unless the mode demands one.', async () => {
    await using root = tempDirectory('root');
    const stage = await open({ network: 'none', auto_allow: true });
    for (const mode of [null, 'workspace_write']) {
      const { running } = await call(stage, root.path, mode);
      expect(await running).toMatchObject({ ok: true, result: { stdout_tail: 'ran\n' } });
    }
    const { session, running } = await call(stage, root.path, 'require_approval');
    await stage.decide(await stage.asked(session.id), 'decline');
    expect(await running).toMatchObject({ ok: false });
    const refused = await call(stage, root.path, 'read_only');
    expect((await refused.running).error).toMatchObject({ code: 'unauthorized' });
  });

  test('With auto_allow, a command that reaches the network needs an approval.', async () => {
    await using root = tempDirectory('root');
    const stage = await open({ network: 'all', auto_allow: true });
    const { session, running } = await call(stage, root.path, null);
    await stage.decide(await stage.asked(session.id), 'decline');
    expect(await running).toMatchObject({ ok: false });
  });
});
