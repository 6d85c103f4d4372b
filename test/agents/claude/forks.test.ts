import { expect, test } from 'vitest';
import { WatchedFork } from '../../support/providers/provider-harness.ts';
import { type ClaudeBehavior, sharedRawClaude } from '../../support/providers/raw-claude.ts';

const on = sharedRawClaude();
const onIdle = sharedRawClaude({ providers: { idle_timeout_ms: 1 } });

const never = () => new Promise<never>(() => undefined);

/** The ids that claude gives its messages. */
const numbered: NonNullable<ClaudeBehavior['turns']> = Object.fromEntries(
  ['one', 'two'].map((text) => [
    text,
    (claude) => {
      const from = (uuid: string, more: object) =>
        claude.send({ type: 'assistant', uuid, message: { id: uuid, content: [] }, ...more });
      from(`start-${text}`, {});
      from(`end-${text}`, {});
      from(`subagent-${text}`, { parent_tool_use_id: 'toolu_1' });
      claude.say(text);
      claude.result({ usage: { input_tokens: 3, output_tokens: 1 } });
    },
  ]),
);

/** A claude that cannot fork, and reports that on stderr only. */
function withoutForks(words: string): ClaudeBehavior {
  const forks = (args: readonly string[]) => args.includes('--fork-session');
  return {
    turns: numbered,
    begins(claude) {
      if (!forks(claude.args)) return;
      claude.stderr(`${words}\n`);
      claude.exit(1);
    },
    requests: { initialize: (_, { args }) => (forks(args) ? never() : {}) },
  };
}

test('A fork starts claude with the last message of the turn, and later processes resume the fork.', async () => {
  const { open, agents, noAgents } = onIdle({ turns: numbered });
  const session = await open();
  const first = await session.run('one');
  expect(first.agent_turn_ref).toBe('end-one');
  await session.run('two');
  const { provider_session_ref: origin } = await session.record();
  await using forked = await WatchedFork.of(session, first.turn_id);
  expect((await forked.run('three')).text).toBe('three');
  await noAgents();
  await forked.run('four');
  const { provider_session_ref: ref, forked_from } = await forked.record();
  expect(ref).not.toBe(origin);
  expect(forked_from?.way).toBe('agent');
  const starts = agents.map(({ args }) => args).filter((args) => args.join().includes(String(ref)));
  expect(starts).toEqual([
    expect.arrayContaining([
      `--resume=${origin}`,
      '--fork-session',
      '--resume-session-at=end-one',
      `--session-id=${ref}`,
    ]),
    expect.arrayContaining([`--resume=${ref}`]),
  ]);
  expect(starts[1]).not.toContain('--fork-session');
});

test('A fork that claude has not stored yet, because it has had no answer, forks again under the same id.', async () => {
  const isResume = (args: readonly string[]) =>
    args.some((one) => one.startsWith('--resume=')) && !args.includes('--fork-session');
  const { open, agents, noAgents } = onIdle({
    turns: { ...numbered, silent: (claude) => claude.result() },
    begins(claude) {
      if (!isResume(claude.args)) return;
      claude.stderr('No conversation found with session ID: it\n');
      claude.exit(1);
    },
    requests: { initialize: (_, { args }) => (isResume(args) ? never() : {}) },
  });
  const session = await open();
  const { turn_id } = await session.run('one');
  await using forked = await WatchedFork.of(session, turn_id);
  await forked.run('silent');
  await noAgents();
  expect((await forked.run('three')).text).toBe('three');
  const { provider_session_ref: ref, forked_from } = await forked.record();
  expect(forked_from?.way).toBe('agent');
  const starts = agents.map(({ args }) => args).filter((args) => args.join().includes(String(ref)));
  expect(starts.map(isResume)).toEqual([false, true, false]);
});

test.for([
  'No message found with message.uuid of: end-one',
  'No conversation found with session ID: it',
  "error: unknown option '--resume-session-at=end-one'",
])(
  'A claude that refuses a fork with "%s" receives a record in the first prompt.',
  async (words) => {
    const { open } = on(withoutForks(words));
    const session = await open();
    const first = await session.run('one');
    await session.run('two');
    await using forked = await WatchedFork.of(session, first.turn_id);
    // The scripted claude echoes the first text of a prompt.
    const { text } = await forked.run('three');
    expect(text).toContain('<handoff_record');
    expect(text).toContain('> one');
    expect(text).not.toContain('> two');
    expect((await forked.record()).forked_from?.way).toBe('record');
    const notice = forked.watch.events.find(({ kind }) => kind === 'session.notice');
    expect(notice?.payload).toMatchObject({
      code: 'forked_by_record',
      message: expect.stringContaining(words),
    });
  },
);
