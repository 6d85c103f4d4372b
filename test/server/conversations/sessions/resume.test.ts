import { expect, it } from 'vitest';
import type { Session } from '../../../../src/api/sessions.ts';
import { ProviderError } from '../../../../src/agents/provider.ts';
import type { ScriptedOptions } from '../../../support/scripted-provider.ts';
import {
  endOf,
  kinds,
  type Refusal,
  type Stage,
  testStage,
  testSession,
} from '../../../support/sessions/harness.ts';

const lost = () => new ProviderError('resume_failed', 'the agent has forgotten it');

function resume(stage: Stage, id: string) {
  return stage.post<Session & Refusal>(`/v1/sessions/${id}/resume`);
}

/** A session that has failed: its agent had seen a turn, went, and the next one did not have it. */
async function failed(stage: Stage): Promise<Session> {
  const { session, turn } = await stage.atWork();
  await stage.complete(turn);
  turn.agent.die('crashed');
  stage.provider.refuseOpen(lost());
  const { body } = await stage.send(session, 'again');
  await stage.until(endOf(body.turn_id));
  return stage.session(session.id);
}

it('The resume of a ready session returns it unchanged.', async () => {
  const { stage, session } = await testSession();
  const before = await stage.events();
  const { status, body } = await resume(stage, session.id);
  expect([status, body]).toEqual([200, session]);
  expect(await stage.events()).toEqual(before);
});

it('The resume of a busy session returns it unchanged.', async () => {
  const { stage, session } = await testSession();
  await stage.play(session);
  const { status, body } = await resume(stage, session.id);
  expect([status, body]).toEqual([200, await stage.session(session.id)]);
  expect(body.status).toBe('running');
});

it('The resume of a closed session answers 409 session_closed.', async () => {
  const { stage, session } = await testSession();
  await stage.close(session.id);
  const { status, body } = await resume(stage, session.id);
  expect([status, body.code]).toEqual([409, 'session_closed']);
});

it('The resume of a failed session makes it ready if its provider still has it.', async () => {
  const asked: unknown[] = [];
  const stage = await testStage({
    played: {
      async has(it) {
        asked.push(it);
        return true;
      },
    },
  });
  const session = await failed(stage);
  expect(session).toMatchObject({ status: 'failed', failure: { code: 'resume_failed' } });
  const { status, body } = await resume(stage, session.id);
  expect(status).toBe(200);
  expect(body).toEqual({ ...session, status: 'ready', failure: null });
  const last = (await stage.events(session.id)).at(-1);
  expect(last?.kind).toBe('session.resumed');
  expect(last?.payload.session).toMatchObject({ status: 'ready', failure: null });
  expect(asked).toEqual([{ ref: `ref-${session.id}`, cwd: session.cwd, isEmpty: true }]);
  const next = await stage.play(session, 'and now');
  expect(next.agent.session.provider_session_ref).toBe(`ref-${session.id}`);
});

const notLoggedIn = () =>
  Promise.reject(new ProviderError('provider_unavailable', 'the agent is not logged in'));

it.each<[why: string, played: ScriptedOptions, status: number, code: string, error: string]>([
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
  async (_why, played, expected, code, error) => {
    const stage = await testStage({ played });
    const session = await failed(stage);
    const { status, body } = await resume(stage, session.id);
    expect([status, body.code]).toEqual([expected, code]);
    expect(body.error).toContain(error);
    expect(await stage.session(session.id)).toEqual(session);
  },
);

it('A session that its provider has lost fails after its turn, and refuses other turns.', async () => {
  const stage = await testStage();
  const session = await failed(stage);
  expect(session).toMatchObject({
    status: 'failed',
    active_turn_id: null,
    failure: { code: 'resume_failed', message: 'the agent has forgotten it' },
  });
  expect(await stage.turn(session.id, session.last_turn_id ?? '')).toMatchObject({
    status: 'failed',
    error: { code: 'resume_failed' },
    started_at: null,
  });
  expect(kinds(await stage.events(session.id)).slice(-3)).toEqual([
    'turn.accepted',
    'turn.failed',
    'session.failed',
  ]);
  const { status, body } = await stage.send(session, 'hello?');
  expect([status, body.code]).toEqual([409, 'session_failed']);
});

it('A session stays open if its agent only could not be started.', async () => {
  const { stage, session } = await testSession();
  stage.provider.refuseOpen(new ProviderError('provider_unavailable', 'not just now'));
  const { body } = await stage.send(session, 'go');
  await stage.until(endOf(body.turn_id));
  expect((await stage.turn(session.id, body.turn_id)).error).toEqual({
    code: 'provider_unavailable',
    message: 'not just now',
  });
  expect((await stage.session(session.id)).status).toBe('ready');
  expect((await stage.play(session, 'again')).text).toBe('again');
});
