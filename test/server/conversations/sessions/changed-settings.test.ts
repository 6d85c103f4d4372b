import { expect, test } from 'vitest';
import type { Session } from '../../../../src/api/sessions.ts';
import { ProviderError } from '../../../../src/agents/provider.ts';
import { completed } from '../../../support/scripted-provider.ts';
import { kinds, testHarness, afterCrash } from '../../../support/sessions/harness.ts';

const pathOf = ({ id }: { id: string }) => `/v1/sessions/${id}`;
const run = { command: 'true', wait_ms: 30_000 };

test('A change of model and modes is stored with its event, and applies from the next turn on.', async () => {
  const { open, patch, startTurn, turn, events, session } = await testHarness();
  const opened = await open({ model: 'small', agent_mode: 'plan' });
  const first = await startTurn(opened);
  const body = { model: 'large', permission_mode: 'read_only', thinking_effort: 'high' };
  const changed = await patch<Session>(pathOf(opened), body);
  expect(changed).toMatchObject({ status: 200, body: { ...body, agent_mode: null } });
  const newest = (await events(opened.id)).at(-1);
  expect(newest).toMatchObject({ kind: 'session.updated', payload: { session: body } });
  const running = await turn(opened.id, (await session(opened.id)).active_turn_id ?? '');
  expect(running).toMatchObject({
    model: 'small',
    permission_mode: 'require_approval',
    agent_mode: 'plan',
  });
  first.end(completed);
  const second = await startTurn(opened);
  expect(first.settings).toMatchObject({ model: 'small', agentMode: 'plan' });
  expect(second.settings).toEqual({
    model: 'large',
    permissionMode: 'read_only',
    agentMode: null,
    thinkingEffort: 'high',
  });
  second.end(completed);
});

test("Cadre's own tools obey the mode that the running turn began with.", async () => {
  const { open, patch, startTurn, callTool, asked, decide } = await testHarness();
  const opened = await open({ permission_mode: null });
  const first = await startTurn(opened);
  await patch(pathOf(opened), { permission_mode: 'full_access' });
  const called = callTool(opened, 'cadre_process_run', run);
  await decide(await asked(opened.id), 'decline');
  expect(await called).toMatchObject({ ok: false, error: { code: 'unauthorized' } });
  first.end(completed);
  const second = await startTurn(opened);
  expect(await callTool(opened, 'cadre_process_run', run)).toMatchObject({ ok: true });
  await patch(pathOf(opened), { permission_mode: 'read_only' });
  expect(await callTool(opened, 'cadre_process_run', run)).toMatchObject({ ok: true });
  second.end(completed);
  const third = await startTurn(opened);
  const refused = { ok: false, error: { code: 'unauthorized' } };
  expect(await callTool(opened, 'cadre_process_run', run)).toMatchObject(refused);
  third.end(completed);
});

test('Null removes a setting, an absent field changes nothing, and the same values append no event.', async () => {
  const { open, patch, events } = await testHarness();
  const opened = await open({ model: 'small', thinking_effort: 'high' });
  const cleared = await patch<Session>(pathOf(opened), { model: null, permission_mode: null });
  expect(cleared.body).toMatchObject({
    model: null,
    permission_mode: null,
    thinking_effort: 'high',
  });
  await patch(pathOf(opened), { model: null });
  const updates = kinds(await events(opened.id)).filter((kind) => kind === 'session.updated');
  expect(updates).toHaveLength(1);
  expect((await patch(pathOf(opened), { model: '' })).status).toBe(400);
});

test('Settings that the agent refuses change nothing, and a title needs no such check.', async () => {
  const objection = ({ model }: { model: string | null }) =>
    model === 'wrong' ? new ProviderError('invalid_model', 'acp: unknown model "wrong"') : null;
  const { open, patch, startTurn, session } = await testHarness({ agents: { objection } });
  const opened = await open({ model: 'small' });
  (await startTurn(opened)).end(completed);
  const refused = await patch(pathOf(opened), { title: 'new', model: 'wrong' });
  expect(refused).toMatchObject({ status: 400, body: { code: 'invalid' } });
  expect(await session(opened.id)).toMatchObject({ title: 'go', model: 'small' });
  expect((await patch(pathOf(opened), { title: 'new' })).status).toBe(200);
});

test('A changed setting is still there after a crash.', async () => {
  const [{ startTurn }, opened] = await afterCrash(async ({ open, patch }) => {
    const opened = await open();
    await patch(pathOf(opened), { model: 'large', permission_mode: 'full_access' });
    return opened;
  });
  const turn = await startTurn(opened);
  expect(turn.settings).toMatchObject({ model: 'large', permissionMode: 'full_access' });
  turn.end(completed);
});
