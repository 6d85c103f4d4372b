import { expect, test } from 'vitest';
import { WatchedFork, type WatchedSession } from '../../support/providers/provider-harness.ts';
import { type CodexBehavior, Refusal, sharedRawCodex } from '../../support/providers/raw-codex.ts';

const on = sharedRawCodex();

const SETTINGS = {
  model: 'usual',
  approvalPolicy: 'never',
  sandbox: { type: 'dangerFullAccess' },
  reasoningEffort: 'low',
};

/** A codex whose forks end with a turn; null: with the turn that was asked for. */
function withForks(last: string | null): CodexBehavior {
  let asked: unknown = null;
  return {
    requests: {
      'thread/fork'({ lastTurnId }) {
        asked = lastTurnId;
        return { ...SETTINGS, thread: { id: 'forked', status: { type: 'idle' } } };
      },
      'thread/turns/list': () => ({ data: [{ id: last ?? asked }], nextCursor: null }),
    },
  };
}

/** Runs two turns, and returns the first one. */
async function talk(session: WatchedSession) {
  const first = await session.run('one');
  await session.run('two', { permission_mode: 'full_access' });
  return first;
}

test('A fork is a thread that codex forks at the turn, with the settings with which the session started.', async () => {
  const { open, agents } = on(withForks(null));
  const session = await open();
  const { turn_id, agent_turn_ref } = await talk(session);
  await using forked = await WatchedFork.of(session, turn_id);
  expect((await forked.run('three')).text).toBe('three');
  const { provider_session_ref: origin, provider_defaults } = await session.record();
  expect(agents[0]?.requests('thread/fork')).toMatchObject([
    { threadId: origin, lastTurnId: agent_turn_ref },
  ]);
  expect(await forked.record()).toMatchObject({
    provider_session_ref: 'forked',
    provider_defaults,
    forked_from: { way: 'agent' },
  });
  expect(agents[0]?.requests('turn/start').at(-1)).toMatchObject({
    threadId: 'forked',
    sandboxPolicy: { type: 'readOnly' },
  });
});

test('A codex that ignores the turn of a fork begins a new thread with a record.', async () => {
  const { open, agents } = on(withForks('another'));
  const session = await open();
  await using forked = await WatchedFork.of(session, (await talk(session)).turn_id);
  expect((await forked.run('three')).text).toContain('> one');
  expect(agents[0]?.requests('thread/unsubscribe')).toContainEqual({ threadId: 'forked' });
  expect((await forked.record()).forked_from?.way).toBe('record');
});

test('A codex that refuses to fork begins a new thread with a record, and the session shows the reason.', async () => {
  const { open } = on({
    requests: {
      'thread/fork': () => {
        throw new Refusal('no rollout found');
      },
    },
  });
  const session = await open();
  await using forked = await WatchedFork.of(session, (await talk(session)).turn_id);
  const { text } = await forked.run('three');
  expect(text).toContain('> one');
  expect(text).not.toContain('> two');
  const notice = forked.watch.events.find(({ kind }) => kind === 'session.notice');
  expect(notice?.payload).toMatchObject({
    code: 'forked_by_record',
    message: expect.stringContaining('no rollout found'),
  });
});
