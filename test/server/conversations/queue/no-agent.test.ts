import { expect, it } from 'vitest';
import { ProviderError } from '../../../../src/agents/provider.ts';
import { yieldToEventLoop } from '../../../../src/core/lib/slices.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { HOUR, MINUTE, queueOf } from '../../../support/queue/queue.ts';
import {
  afterCrash,
  type Harness,
  type HarnessOptions,
  testHarness,
  testSession,
} from '../../../support/sessions/harness.ts';
import { FullDisk } from '../../../support/sessions/faults.ts';
import { completed, makeTeam } from '../../../support/teams/team.ts';

/** An agent that can be switched off: its starts are counted, and fail. */
function switchable() {
  const agent = { isOff: false, starts: 0 };
  const agentOptions: HarnessOptions['agents'] = {
    opening: () => {
      agent.starts++;
      return agent.isOff
        ? Promise.reject(new ProviderError('provider_unavailable', 'the directory is gone'))
        : Promise.resolve();
    },
  };
  return { agent, agents: agentOptions };
}

const failures = (harness: Harness) =>
  harness.seen.filter(({ kind }) => kind === 'turn.failed').length;

/** Lets the tries of a session pass until it is held. */
async function untilHeld(harness: Harness) {
  for (let failed = 1; failed <= 5; failed++) {
    await harness.times('turn.failed', failed);
    if (failed < 5) harness.clock.advance(1000 * 2 ** (failed - 1));
  }
  await harness.until(({ kind }) => kind === 'queue.session_held');
}

/** Lets an agent be tried again and again, for an hour or longer. */
async function passHours(harness: Harness, agent: { starts: number }) {
  const enough = agent.starts + 12;
  await expectEventually(() => {
    harness.clock.advance(5 * MINUTE);
    return agent.starts;
  }).toBeGreaterThan(enough);
}

/** Lets time pass until an agent has the next turn. */
async function nextTurn(harness: Harness) {
  const turn = harness.provider.nextTurn();
  await expectEventually(() => {
    harness.clock.advance(5 * MINUTE);
    return harness.provider.live.now;
  }).toBeGreaterThan(0);
  return turn;
}

it('A session waits before it tries to get an agent again, also if a budget of another session ends meanwhile.', async () => {
  const harness = await testHarness();
  const [limited, waiting] = [await harness.open(), await harness.open()];
  await harness.post('/v1/budgets', { session_id: limited.id, turns: 1 });
  await harness.complete(await harness.startTurn(limited));
  harness.provider.refuseOpen(new ProviderError('provider_unavailable', 'not now'));
  await harness.post(`/v1/sessions/${waiting.id}/queue`, { input: { type: 'text', text: 'go' } });
  await harness.times('turn.failed', 1);
  await harness.close(limited.id);
  await harness.open();
  expect((await harness.session(waiting.id)).status).toBe('ready');
  harness.clock.advance(1000);
  expect((await harness.provider.nextTurn()).session.id).toBe(waiting.id);
});

it('An entry whose agent cannot be started is held with the reason after five tries, and becomes a turn once an agent can be started.', async () => {
  const { agent, agents: agentOptions } = switchable();
  const { harness, session } = await testSession({ agents: agentOptions });
  const queue = queueOf(harness);
  agent.isOff = true;
  const { body: entry } = await queue.add(session, 'work');
  await untilHeld(harness);
  await passHours(harness, agent);
  expect(failures(harness)).toBe(5);
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
  const turn = await nextTurn(harness);
  expect(turn.text).toBe('work');
  turn.end(completed);
  expect((await harness.provider.nextTurn()).text).toBe('more work');
  expect((await queue.of(session)).holds).toEqual([]);
  expect(failures(harness)).toBe(5);
  expect(harness.seen.map(({ kind }) => kind)).toContain('queue.session_released');
  expect(harness.provider.live.most).toBe(1);
});

it('A person who resumes the queue, or sends a turn, has one try at once; then the session is held again.', async () => {
  const { agent, agents: agentOptions } = switchable();
  const { harness, session } = await testSession({ agents: agentOptions });
  const queue = queueOf(harness);
  agent.isOff = true;
  await queue.add(session, 'work');
  await untilHeld(harness);
  await queue.resumeAll(session);
  await harness.times('queue.session_held', 2);
  expect(failures(harness)).toBe(6);
  agent.isOff = false;
  const turn = await harness.startTurn(session, 'now');
  turn.end(completed);
  expect((await harness.provider.nextTurn()).text).toBe('work');
  expect((await queue.of(session)).holds).toEqual([]);
});

it('A message to a session without an agent waits without a failed turn for each try, and is delivered when an agent can be started or somebody retries it.', async () => {
  const { agent, agents: agentOptions } = switchable();
  const harness = await testHarness({ agents: agentOptions });
  const teamHarness = await makeTeam(harness, 2);
  agent.isOff = true;
  const { delivery } = await teamHarness.say('hello');
  await untilHeld(harness);
  await passHours(harness, agent);
  expect(failures(harness)).toBe(5);
  expect(await teamHarness.delivery(delivery.id)).toMatchObject({
    status: 'deferred',
    attempts: 5,
  });
  agent.isOff = false;
  expect((await teamHarness.retry(delivery)).status).toBe(200);
  expect((await harness.provider.nextTurn()).text).toContain('hello');
});

it('The hold of a session without an agent survives a SIGKILL: the next server tries without a turn.', async () => {
  const { agent, agents: agentOptions } = switchable();
  const options = agentOptions === undefined ? {} : { agents: agentOptions };
  const [harness, left] = await afterCrash(
    async (harness) => {
      const session = await harness.open();
      agent.isOff = true;
      await queueOf(harness).add(session, 'work');
      await untilHeld(harness);
      return session;
    },
    { before: options, after: options },
  );

  await passHours(harness, agent);
  expect((await queueOf(harness).of(left)).holds).toMatchObject([{ code: 'no_agent' }]);
  expect(failures(harness)).toBe(5);
  agent.isOff = false;
  expect((await nextTurn(harness)).text).toBe('work');
});

it('A session that is closed while an agent is tried for it leaves no agent behind.', async () => {
  const { agent, agents: agentOptions } = switchable();
  const { harness, session } = await testSession({ agents: agentOptions });
  agent.isOff = true;
  await queueOf(harness).add(session, 'work');
  await untilHeld(harness);
  await passHours(harness, agent);
  await harness.close(session.id);
  agent.isOff = false;
  harness.clock.advance(HOUR);
  expect(harness.provider.live.now).toBe(0);
  expect(harness.seen.some(({ kind }) => kind === 'queue.session_released')).toBe(false);
});

it('A session that a person resumes again and again without an agent is still tried once at a time.', async () => {
  const { agent, agents: agentOptions } = switchable();
  const { harness, session } = await testSession({ agents: agentOptions });
  const queue = queueOf(harness);
  agent.isOff = true;
  await queue.add(session, 'work');
  await untilHeld(harness);
  await passHours(harness, agent);
  for (let held = 2; held <= 4; held++) {
    await queue.resumeAll(session);
    await harness.times('queue.session_held', held);
  }
  await passHours(harness, agent);
  const before = agent.starts;
  for (let round = 0; round < 5; round++) {
    harness.clock.advance(5 * MINUTE);
    for (let turn = 0; turn < 20; turn++) await yieldToEventLoop();
    await harness.session(session.id);
  }
  expect(agent.starts - before).toBeLessThanOrEqual(5);
  expect(agent.starts - before).toBeGreaterThan(2);
});

it('A turn that is due on a full disk begins when there is room again.', async () => {
  using disk = new FullDisk();
  const { harness, session } = await testSession();
  harness.provider.refuseOpen(new ProviderError('provider_unavailable', 'not now'));
  await queueOf(harness).add(session, 'work');
  await harness.times('turn.failed', 1);
  disk.full = true;
  harness.clock.advance(1000);
  await harness.logged('cannot start the next turn of an inbox');
  disk.full = false;
  harness.clock.advance(5000);
  expect((await harness.provider.nextTurn()).text).toBe('work');
});
