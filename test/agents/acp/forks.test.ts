import { expect, test } from 'vitest';
import { WatchedFork } from '../../support/providers/provider-harness.ts';
import {
  capabilities,
  initialized,
  Refusal,
  type AcpBehavior,
  sharedRawAgent,
} from '../../support/providers/raw-agent.ts';

const on = sharedRawAgent();

/** An agent that supports forks, and answers them so. */
function forking(answer: () => unknown): AcpBehavior {
  const can = { ...capabilities, sessionCapabilities: { resume: {}, fork: {} } };
  return {
    methods: {
      initialize: () => initialized({ agentCapabilities: can }),
      'session/fork': answer,
    },
  };
}

test('An agent with the capability forks the whole session at its last turn.', async () => {
  const { open, agents, cwd } = on(forking(() => ({ sessionId: 'forked' })));
  const session = await open();
  const { turn_id } = await session.run('one');
  const { provider_session_ref: sessionId } = await session.record();
  await using forked = await WatchedFork.of(session, turn_id);
  expect((await forked.run('two')).text).toBe('two');
  expect(agents[1]?.last('session/fork')?.params).toMatchObject({ sessionId, cwd });
  expect(await forked.record()).toMatchObject({
    provider_session_ref: 'forked',
    forked_from: { way: 'agent' },
  });
});

test.for([
  ['does not support forks', {}, 'the agent cannot fork sessions'],
  ['refuses a fork', forking(() => Promise.reject(new Refusal(-32_603, 'not now'))), 'not now'],
] as const)(
  'An agent that %s receives a record in the first prompt, and the session shows the reason.',
  async ([, behavior, reason]) => {
    const { open } = on(behavior);
    const session = await open();
    const { turn_id } = await session.run('one');
    await using forked = await WatchedFork.of(session, turn_id);
    expect((await forked.run('two')).text).toContain('> one');
    expect((await forked.record()).forked_from?.way).toBe('record');
    const notice = forked.watch.events.find(({ kind }) => kind === 'session.notice');
    expect(notice?.payload).toMatchObject({
      code: 'forked_by_record',
      message: expect.stringContaining(reason),
    });
  },
);

test('An agent does not fork a session at an earlier turn.', async () => {
  const { open, agents } = on(forking(() => ({ sessionId: 'forked' })));
  const session = await open();
  const { turn_id } = await session.run('one');
  await session.run('later');
  await using forked = await WatchedFork.of(session, turn_id);
  const { text } = await forked.run('two');
  expect(text).toContain('> one');
  expect(text).not.toContain('> later');
  expect(agents[1]?.last('session/fork')).toBeUndefined();
});
