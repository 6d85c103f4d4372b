import { expect, it } from 'vitest';
import { ProviderError } from '../../../../src/agents/provider.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { HOUR, MINUTE, queueOf } from '../../../support/queue/queue.ts';
import {
  afterCrash,
  type Stage,
  type StageOptions,
  testStage,
  testSession,
} from '../../../support/sessions/harness.ts';
import { completed, makeTeam } from '../../../support/teams/team.ts';

/** An agent that can be switched off: its starts are counted, and fail. */
function switchable() {
  const agent = { isOff: false, starts: 0 };
  const played: StageOptions['played'] = {
    opening: () => {
      agent.starts++;
      return agent.isOff
        ? Promise.reject(new ProviderError('provider_unavailable', 'the directory is gone'))
        : Promise.resolve();
    },
  };
  return { agent, played };
}

const failures = (stage: Stage) => stage.seen.filter(({ kind }) => kind === 'turn.failed').length;

/** Lets the tries of a session pass until it is held. */
async function untilHeld(stage: Stage) {
  for (let failed = 1; failed <= 5; failed++) {
    await stage.times('turn.failed', failed);
    if (failed < 5) stage.clock.advance(1000 * 2 ** (failed - 1));
  }
  await stage.until(({ kind }) => kind === 'queue.session_held');
}

/** Lets an agent be tried again and again, for an hour or longer. */
async function passHours(stage: Stage, agent: { starts: number }) {
  const enough = agent.starts + 12;
  await expectEventually(() => {
    stage.clock.advance(5 * MINUTE);
    return agent.starts;
  }).toBeGreaterThan(enough);
}

/** Lets time pass until an agent has the next turn. */
async function nextTurn(stage: Stage) {
  const turn = stage.provider.nextTurn();
  await expectEventually(() => {
    stage.clock.advance(5 * MINUTE);
    return stage.provider.live.now;
  }).toBeGreaterThan(0);
  return turn;
}

it('A session waits before it tries to get an agent again, also if a budget of another session ends meanwhile.', async () => {
  const stage = await testStage();
  const [limited, waiting] = [await stage.open(), await stage.open()];
  await stage.post('/v1/budgets', { session_id: limited.id, turns: 1 });
  await stage.complete(await stage.play(limited));
  stage.provider.refuseOpen(new ProviderError('provider_unavailable', 'not now'));
  await stage.post(`/v1/sessions/${waiting.id}/queue`, { input: { type: 'text', text: 'go' } });
  await stage.times('turn.failed', 1);
  await stage.close(limited.id);
  await stage.open();
  expect((await stage.session(waiting.id)).status).toBe('ready');
  stage.clock.advance(1000);
  expect((await stage.provider.nextTurn()).session.id).toBe(waiting.id);
});

it('An entry whose agent cannot be started is held with the reason after five tries, and becomes a turn once an agent can be started.', async () => {
  const { agent, played } = switchable();
  const { stage, session } = await testSession({ played });
  const queue = queueOf(stage);
  agent.isOff = true;
  const { body: entry } = await queue.add(session, 'work');
  await untilHeld(stage);
  await passHours(stage, agent);
  expect(failures(stage)).toBe(5);
  const { holds, entries } = await queue.of(session);
  expect(holds).toMatchObject([
    {
      code: 'no_agent',
      message: 'no agent could be started: the directory is gone',
      until: null,
    },
  ]);
  expect(entries).toMatchObject([{ id: entry.id, status: 'waiting', runs: 0 }]);
  // A later entry waits too, without a failed turn.
  await queue.add(session, 'more work');
  agent.isOff = false;
  const turn = await nextTurn(stage);
  expect(turn.text).toBe('work');
  turn.end(completed);
  expect((await stage.provider.nextTurn()).text).toBe('more work');
  expect((await queue.of(session)).holds).toEqual([]);
  expect(failures(stage)).toBe(5);
  expect(stage.seen.map(({ kind }) => kind)).toContain('queue.session_released');
  expect(stage.provider.live.most).toBe(1);
});

it('A person who resumes the queue, or sends a turn, has one try at once; then the session is held again.', async () => {
  const { agent, played } = switchable();
  const { stage, session } = await testSession({ played });
  const queue = queueOf(stage);
  agent.isOff = true;
  await queue.add(session, 'work');
  await untilHeld(stage);
  await queue.resumeAll(session);
  await stage.times('queue.session_held', 2);
  expect(failures(stage)).toBe(6);
  agent.isOff = false;
  const turn = await stage.play(session, 'now');
  turn.end(completed);
  expect((await stage.provider.nextTurn()).text).toBe('work');
  expect((await queue.of(session)).holds).toEqual([]);
});

it('A message to a session without an agent waits without a failed turn for each try, and is delivered when an agent can be started or somebody retries it.', async () => {
  const { agent, played } = switchable();
  const stage = await testStage({ played });
  const cast = await makeTeam(stage, 2);
  agent.isOff = true;
  const { delivery } = await cast.say('hello');
  await untilHeld(stage);
  await passHours(stage, agent);
  expect(failures(stage)).toBe(5);
  expect(await cast.delivery(delivery.id)).toMatchObject({ status: 'deferred', attempts: 5 });
  agent.isOff = false;
  expect((await cast.retry(delivery)).status).toBe(200);
  expect((await stage.provider.nextTurn()).text).toContain('hello');
});

it('The hold of a session without an agent survives a SIGKILL: the next server tries without a turn.', async () => {
  const { agent, played } = switchable();
  const options = played === undefined ? {} : { played };
  const [stage, left] = await afterCrash(
    async (stage) => {
      const session = await stage.open();
      agent.isOff = true;
      await queueOf(stage).add(session, 'work');
      await untilHeld(stage);
      return session;
    },
    { before: options, after: options },
  );

  await passHours(stage, agent);
  expect((await queueOf(stage).of(left)).holds).toMatchObject([{ code: 'no_agent' }]);
  expect(failures(stage)).toBe(5);
  agent.isOff = false;
  expect((await nextTurn(stage)).text).toBe('work');
});

it('A session that is closed while an agent is tried for it leaves no agent behind.', async () => {
  const { agent, played } = switchable();
  const { stage, session } = await testSession({ played });
  agent.isOff = true;
  await queueOf(stage).add(session, 'work');
  await untilHeld(stage);
  await passHours(stage, agent);
  await stage.close(session.id);
  agent.isOff = false;
  stage.clock.advance(HOUR);
  expect(stage.provider.live.now).toBe(0);
  expect(stage.seen.some(({ kind }) => kind === 'queue.session_released')).toBe(false);
});
