import { expect, test } from 'vitest';
import { itemsOf, interrupt, until } from '../../support/providers/calls.ts';
import { noticingClock } from '../../support/providers/noticing-clock.ts';
import {
  type RawClaude,
  sharedRawClaude,
  testRawClaude,
} from '../../support/providers/raw-claude.ts';
import { isEnd } from '../../support/providers/watch.ts';
import { ofKind } from '../../support/turns.ts';

const on = sharedRawClaude();

test('An API failure with the subtype "success" fails the turn, and the session stays ready.', async () => {
  const { firstTurn, client } = on({
    turns: {
      go(claude) {
        const text = 'API Error: 500 not good';
        const message = { id: 'x', model: '<synthetic>', content: [{ type: 'text', text }] };
        claude.send({ type: 'assistant', message });
        claude.result({ is_error: true, result: text, terminal_reason: 'api_error' });
      },
    },
  });
  const { session, turn } = await firstTurn('go');
  expect(turn).toMatchObject({ status: 'failed', text: null });
  expect(turn.error).toEqual({
    code: 'provider_error',
    message: 'claude failed: API Error: 500 not good',
  });
  expect(await itemsOf(client, turn)).toEqual([]);
  expect(await session.run('again')).toMatchObject({ status: 'completed', text: 'again' });
});

test('A request to the model that claude repeats is a notice of the waiting turn.', async () => {
  const { firstTurn } = on({
    turns: {
      go(claude) {
        const retry = { attempt: 2, max_retries: 10, retry_delay_ms: 900, error: 'unknown' };
        claude.send({ type: 'system', subtype: 'api_retry', ...retry, error_status: null });
        claude.result({ result: 'done' });
      },
    },
  });
  const { session, turn } = await firstTurn('go');
  const notices = ofKind(session.watch.of(turn.turn_id), 'session.notice');
  expect(notices.map(({ payload }) => payload)).toEqual([
    { code: 'waiting', message: 'claude: the request failed (unknown), retry 2/10' },
  ]);
});

test('A turn without a login fails with the login command.', async () => {
  const { open } = on({
    turns: {
      go: (claude) =>
        claude.result({ is_error: true, result: 'Not logged in · Please run /login' }),
    },
  });
  const { error } = await (await open()).run('go');
  expect(error?.message).toContain('claude auth login');
});

test('An exit with 1 after a failed turn is not a crash, and the next turn resumes in another process.', async () => {
  const { firstTurn, agents, diagnostics } = await testRawClaude({
    turns: {
      go(claude) {
        claude.result({ is_error: true, subtype: 'error_during_execution', errors: ['bad'] });
        claude.exit(1);
      },
    },
  });
  const { session } = await firstTurn('first');
  expect((await session.run('go')).error?.message).toBe('claude failed: bad');
  await until('it is gone', () => agents[0]?.gone === true);
  expect(await session.record()).toMatchObject({ status: 'ready', failure: null });
  expect((await diagnostics()).last_error).toBeNull();
  expect((await session.run('more')).text).toBe('more');
  const { provider_session_ref: ref } = await session.record();
  expect(agents[0]?.args).toContain(`--session-id=${ref}`);
  expect(agents[1]?.args).toContain(`--resume=${ref}`);
});

test('A result that arrives with the exit of claude completes the turn.', async () => {
  const { open } = on({
    turns: {
      go(claude) {
        claude.say('last words');
        claude.result();
        claude.exit(0);
      },
    },
  });
  expect(await (await open()).run('go')).toMatchObject({
    status: 'completed',
    text: 'last words',
  });
});

test('Non-protocol output and unknown messages are counted and ignored.', async () => {
  const { open, diagnostics } = await testRawClaude({
    turns: {
      go(claude) {
        claude.write('this is no message\n\n[1]\n');
        claude.send({ type: 'news' }, { type: 'stream_event', event: { type: 'more_news' } });
        claude.send({ type: 'system', subtype: 'of any kind' }, { type: 'keep_alive' });
        claude.say('heard');
        claude.result();
      },
    },
  });
  expect((await (await open()).run('go')).text).toBe('heard');
  expect(await diagnostics()).toMatchObject({ unknown_messages: 4, version: '9.9' });
});

test('A text that was not streamed is one message, even if only the result has it.', async () => {
  const { firstTurn, client } = on({
    turns: {
      whole(claude) {
        const content = [{ type: 'text', text: 'all at once' }];
        claude.send({ type: 'assistant', message: { id: 'w', model: 'm', content } });
        claude.result({ result: 'all at once' });
      },
      '/cost': (claude) => claude.result({ result: 'nothing yet' }),
    },
  });
  for (const [prompt, text] of [
    ['whole', 'all at once'],
    ['/cost', 'nothing yet'],
  ] as const) {
    const { turn } = await firstTurn(prompt);
    expect(turn.text).toBe(text);
    expect(await itemsOf(client, turn)).toHaveLength(1);
  }
});

test('Text of a subagent is not a message of the session, and its tool calls are shown.', async () => {
  const { open, client } = on({
    turns: {
      go(claude) {
        const content = [
          { type: 'text', text: 'to my caller' },
          { type: 'tool_use', id: 't1', name: 'Read', input: { file_path: '/x' } },
        ];
        const message = { id: 's', model: 'm', content };
        claude.send({ type: 'assistant', parent_tool_use_id: 't0', message });
        claude.say('done');
        claude.result();
      },
    },
  });
  const turn = await (await open()).run('go');
  const items = await itemsOf(client, turn);
  expect(items.map(({ kind, text, tool }) => `${kind}: ${tool?.title ?? text}`)).toEqual([
    'tool: Read /x',
    'message: done',
  ]);
});

test('An interrupt before the start of the turn is sent again.', async () => {
  const { firstTurn, client } = on({
    requests: {
      interrupt(_, claude) {
        if (claude.requests('interrupt').length === 2)
          claude.result({ is_error: true, terminal_reason: 'aborted_streaming' });
      },
    },
    turns: {
      async go(claude) {
        await until('it was interrupted', () => claude.requests('interrupt').length > 0);
        claude.send({ type: 'system', subtype: 'init' });
      },
    },
  });
  const { session } = await firstTurn('first');
  const turnId = await session.send('go');
  await session.watch.kind('turn.started', turnId);
  await interrupt(client, session, turnId);
  expect((await session.watch.end(turnId)).kind).toBe('turn.interrupted');
});

test('An interrupted turn ends as interrupted, even if an answer follows.', async () => {
  const { open, client } = on({
    turns: {
      async go(claude) {
        claude.say('one');
        await until('it was interrupted', () => claude.requests('interrupt').length > 0);
        claude.say('two');
        claude.result();
      },
    },
  });
  const session = await open();
  const turnId = await session.send('go');
  await session.watch.kind('message.delta', turnId);
  await interrupt(client, session, turnId);
  expect((await session.watch.end(turnId)).kind).toBe('turn.interrupted');
  expect((await session.run('again')).text).toBe('again');
  expect(session.watch.of(turnId).filter(isEnd)).toHaveLength(1);
});

test('Text after the result belongs to no turn.', async () => {
  const { open } = on({
    turns: {
      go(claude) {
        claude.say('now');
        claude.result();
        setTimeout(() => claude.say('one more thing'), 100);
      },
    },
  });
  const session = await open();
  expect((await session.run('go')).text).toBe('now');
  await session.watch.until(
    'word outside a turn',
    ({ kind, turn_id }) => kind === 'message.delta' && turn_id === null,
  );
  expect((await session.run('again')).text).toBe('again');
});

test('The usage of a turn excludes earlier turns, and an interrupted turn is counted too.', async () => {
  const { open } = on({
    turns: {
      go(claude) {
        claude.say('a', { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 1 });
        claude.say('b', { input_tokens: 7, cache_creation_input_tokens: 4, output_tokens: 1 });
        claude.result({
          usage: {
            input_tokens: 12,
            cache_creation_input_tokens: 4,
            cache_read_input_tokens: 2,
            output_tokens: 2,
          },
          total_cost_usd: 5,
          modelUsage: { m: { costUSD: 5, contextWindow: 1000 } },
          model_usage_since_last_result: { m: { costUSD: 0.5, contextWindow: 1000 } },
        });
      },
      cut(claude) {
        claude.say('c', { input_tokens: 9, output_tokens: 3 });
        claude.result({
          is_error: true,
          terminal_reason: 'aborted_streaming',
          usage: { input_tokens: 0, output_tokens: 0 },
        });
      },
    },
  });
  const session = await open();
  expect((await session.run('go')).usage).toEqual({
    input_tokens: 16,
    cached_input_tokens: 2,
    output_tokens: 2,
    total_tokens: 20,
    context_tokens: 12,
    context_window: 1000,
    cost_usd: 0.5,
  });
  const { status, usage } = await session.run('cut');
  expect(status).toBe('interrupted');
  expect(usage).toMatchObject({ input_tokens: 9, output_tokens: 3, context_tokens: 12 });
});

test('A todo list is a plan.', async () => {
  const { firstTurn } = on({
    turns: {
      go(claude) {
        const todos = [{ content: 'look', status: 'in_progress', activeForm: 'looking' }];
        claude.call('t1', 'TodoWrite', { todos });
        claude.result();
      },
    },
  });
  const { session, turn } = await firstTurn('go');
  const [plan] = ofKind(session.watch.of(turn.turn_id), 'plan.updated');
  expect(plan?.payload.entries).toEqual([
    { content: 'look', status: 'in_progress', priority: null },
  ]);
});

test('A session that is closed stops a claude that ignores the end of its input.', async () => {
  const { open, client, agents, noAgents } = on({
    turns: { go: (claude: RawClaude) => (claude.outlive(), claude.say('busy')) },
  });
  const session = await open();
  const turnId = await session.send('go');
  await session.watch.kind('message.delta', turnId);
  const params = { session_id: session.id };
  const { endpoints } = await import('../../../src/api/index.ts');
  await client.call(endpoints.closeSession, { params, body: {} });
  await noAgents();
  expect(agents[0]?.reports).toContainEqual({ eof: true });
  expect(agents[0]?.reports).toContainEqual({ signal: 'SIGTERM' });
});

test('A turn starts another claude while the previous one, which closed its output, still stops.', async () => {
  const { clock, noticed } = noticingClock();
  const { firstTurn, agents } = await testRawClaude({}, { clock });
  const { session } = await firstTurn('hello');
  agents[0]?.outlive();
  agents[0]?.hangUp();
  await noticed;
  expect(await session.run('again')).toMatchObject({ status: 'completed', text: 'again' });
  expect(agents).toHaveLength(2);
});

test('An answer with an error that is null is an answer.', async () => {
  const { firstTurn } = on({
    requests: {
      initialize(_request, claude) {
        const { request_id } = claude.received.at(-1) ?? {};
        const response = { subtype: 'success', request_id, response: {}, error: null };
        claude.send({ type: 'control_response', response });
        return new Promise(() => undefined);
      },
    },
  });
  const { turn } = await firstTurn('hello');
  expect(turn).toMatchObject({ status: 'completed', text: 'hello' });
});
