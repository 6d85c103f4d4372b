import { expect, it } from 'vitest';
import type { Session } from '../../../../src/api/sessions.ts';
import { ProviderError } from '../../../../src/agents/provider.ts';
import type { ScriptedOptions } from '../../../support/scripted-provider.ts';
import {
  endOf,
  kinds,
  type Refusal,
  type Harness,
  testHarness,
  testSession,
} from '../../../support/sessions/harness.ts';

const lost = () => new ProviderError('resume_failed', 'the agent has forgotten it');

function resume(harness: Harness, id: string) {
  return harness.post<Session & Refusal>(`/v1/sessions/${id}/resume`);
}

/** A session that has failed: its agent had seen a turn, went, and the next one did not have it. */
async function failed(harness: Harness): Promise<Session> {
  const { session, turn } = await harness.atWork();
  await harness.complete(turn);
  turn.agent.die('crashed');
  harness.provider.refuseOpen(lost());
  const { body } = await harness.send(session, 'again');
  await harness.until(endOf(body.turn_id));
  return harness.session(session.id);
}

it('The resume of a ready session returns it unchanged.', async () => {
  const { harness, session } = await testSession();
  const before = await harness.events();
  const { status, body } = await resume(harness, session.id);
  expect([status, body]).toEqual([200, session]);
  expect(await harness.events()).toEqual(before);
});

it('The resume of a busy session returns it unchanged.', async () => {
  const { harness, session } = await testSession();
  await harness.startTurn(session);
  const { status, body } = await resume(harness, session.id);
  expect([status, body]).toEqual([200, await harness.session(session.id)]);
  expect(body.status).toBe('running');
});

it('The resume of a closed session answers 409 session_closed.', async () => {
  const { harness, session } = await testSession();
  await harness.close(session.id);
  const { status, body } = await resume(harness, session.id);
  expect([status, body.code]).toEqual([409, 'session_closed']);
});

it('The resume of a failed session makes it ready if its provider still has it.', async () => {
  const asked: unknown[] = [];
  const harness = await testHarness({
    agents: {
      async has(it) {
        asked.push(it);
        return true;
      },
    },
  });
  const session = await failed(harness);
  expect(session).toMatchObject({ status: 'failed', failure: { code: 'resume_failed' } });
  const { status, body } = await resume(harness, session.id);
  expect(status).toBe(200);
  expect(body).toEqual({ ...session, status: 'ready', failure: null });
  const last = (await harness.events(session.id)).at(-1);
  expect(last?.kind).toBe('session.resumed');
  expect(last?.payload.session).toMatchObject({ status: 'ready', failure: null });
  expect(asked).toEqual([{ ref: `ref-${session.id}`, cwd: session.cwd, isEmpty: true }]);
  const next = await harness.startTurn(session, 'and now');
  expect(next.agent.session.provider_session_ref).toBe(`ref-${session.id}`);
});

const notLoggedIn = () =>
  Promise.reject(new ProviderError('provider_unavailable', 'the agent is not logged in'));

it.each<[why: string, agentOptions: ScriptedOptions, status: number, code: string, error: string]>([
  ['has lost it', { has: async () => false }, 409, 'session_failed', 'no longer stores session'],
  [
    'cannot resume sessions',
    { capabilities: { resume: false } },
    409,
    'session_failed',
    'no longer stores session',
  ],
  ['cannot be asked', { has: notLoggedIn }, 400, 'provider_unavailable', 'not logged in'],
])(
  'The resume of a failed session is refused if its provider %s.',
  async (_why, agentOptions, expected, code, error) => {
    const harness = await testHarness({ agents: agentOptions });
    const session = await failed(harness);
    const { status, body } = await resume(harness, session.id);
    expect([status, body.code]).toEqual([expected, code]);
    expect(body.error).toContain(error);
    expect(await harness.session(session.id)).toEqual(session);
  },
);

it('A session that its provider has lost fails after its turn, and refuses other turns.', async () => {
  const harness = await testHarness();
  const session = await failed(harness);
  expect(session).toMatchObject({
    status: 'failed',
    active_turn_id: null,
    failure: { code: 'resume_failed', message: 'the agent has forgotten it' },
  });
  expect(await harness.turn(session.id, session.last_turn_id ?? '')).toMatchObject({
    status: 'failed',
    error: { code: 'resume_failed' },
    started_at: null,
  });
  expect(kinds(await harness.events(session.id)).slice(-3)).toEqual([
    'turn.accepted',
    'turn.failed',
    'session.failed',
  ]);
  const { status, body } = await harness.send(session, 'hello?');
  expect([status, body.code]).toEqual([409, 'session_failed']);
});

it('A session stays open if its agent only could not be started.', async () => {
  const { harness, session } = await testSession();
  harness.provider.refuseOpen(new ProviderError('provider_unavailable', 'not just now'));
  const { body } = await harness.send(session, 'go');
  await harness.until(endOf(body.turn_id));
  expect((await harness.turn(session.id, body.turn_id)).error).toEqual({
    code: 'provider_unavailable',
    message: 'not just now',
  });
  expect((await harness.session(session.id)).status).toBe('ready');
  expect((await harness.startTurn(session, 'again')).text).toBe('again');
});
