import { expect, test, vi } from 'vitest';
import { ofKind } from '../../support/turns.ts';
import {
  endTurn,
  never,
  Refusal,
  sharedRawAgent,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';
import { onGo } from '../../support/providers/rows.ts';
import { isEnd } from '../../support/providers/watch.ts';

const on = sharedRawAgent();

test('Updates of unknown kinds are counted, and the turn continues.', async () => {
  const { open, diagnostics } = on(
    onGo((agent) => {
      agent.update(
        { sessionUpdate: 'hologram', url: 'x' },
        { sessionUpdate: 'agent_message_chunk' },
        { sessionUpdate: 'tool_call', title: 'without an id' },
        { noKind: true },
      );
      agent.say('still here');
      return endTurn;
    }),
  );
  const session = await open();
  const { unknown_messages } = await diagnostics();
  expect(await session.run('go')).toMatchObject({ status: 'completed', text: 'still here' });
  expect((await diagnostics()).unknown_messages).toBe(unknown_messages + 4);
});

test('Vendor notifications are counted, and the turn continues.', async () => {
  const { firstTurn, diagnostics } = await testRawAgent(
    onGo((agent) => {
      agent.send({ method: '_vendor/progress', params: { percent: 3 } });
      agent.send({ method: 'vendor/other', params: {} });
      agent.say('still here');
      return endTurn;
    }),
  );
  expect((await firstTurn('go')).turn).toMatchObject({ status: 'completed', text: 'still here' });
  expect((await diagnostics()).unknown_messages).toBe(2);
});

test('Requests for capabilities that cadre does not offer are refused and counted.', async () => {
  const { firstTurn, diagnostics } = await testRawAgent(
    onGo(async (agent) => {
      const answers = await Promise.all([
        agent.request('fs/read_text_file', { sessionId: 'raw', path: '/etc/passwd' }),
        agent.request('_vendor/ask', {}),
      ]);
      agent.say(answers.map(({ error }) => error?.code).join(' '));
      return endTurn;
    }),
  );
  expect((await firstTurn('go')).turn).toMatchObject({ text: '-32601 -32601' });
  expect((await diagnostics()).unknown_messages).toBe(2);
});

test('Text before the answer to session/new belongs to no turn.', async () => {
  const { firstTurn } = on({
    methods: {
      'session/new': (_params, agent) => {
        agent.say('Welcome!');
        agent.update({ sessionUpdate: 'available_commands_update', availableCommands: [] });
        return { sessionId: 'raw' };
      },
    },
  });
  const { session, turn } = await firstTurn('hello');
  expect(turn).toMatchObject({ status: 'completed', text: 'hello' });
  const welcome = ofKind(session.watch.of(null), 'message.completed');
  expect(welcome.map(({ payload }) => payload.text)).toEqual(['Welcome!']);
});

// Text and end arrive in one write, so the text may belong to the turn or follow it.
test('Text right after the end of a turn is recorded once.', async () => {
  const { firstTurn } = on(
    onGo((agent) => {
      const { id } = agent.last('session/prompt') ?? {};
      const content = { type: 'text', text: 'PS' };
      const late = agent.updating({ sessionUpdate: 'agent_message_chunk', content });
      agent.send({ id, result: endTurn }, late);
      return never;
    }),
  );
  const { session, turn } = await firstTurn('go');
  await session.watch.until('postscript', ({ kind }) => kind === 'message.delta');
  await session.run('hello');
  const said = ofKind(session.watch.events, 'message.completed');
  expect(said.map(({ payload }) => payload.text)).toEqual(['PS', 'hello']);
  expect([turn.turn_id, null]).toContain(said[0]?.turn_id);
  expect(turn).toMatchObject({ status: 'completed', text: said[0]?.turn_id && 'PS' });
});

test('A second answer to a prompt is ignored.', async () => {
  // The SDK writes to the console instead of our log.
  using _console = vi.spyOn(console, 'error').mockReturnValue();
  const { firstTurn } = on(
    onGo((agent) => {
      const { id } = agent.last('session/prompt') ?? {};
      agent.send(
        { id, result: endTurn },
        { id, result: { stopReason: 'refusal' } },
        { id, error: { code: -32_603, message: 'after all' } },
        { id: 999, result: {} },
      );
      return never;
    }),
  );
  const { session, turn } = await firstTurn('go');
  expect(turn.status).toBe('completed');
  expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
  expect(session.watch.of(turn.turn_id).filter(isEnd)).toHaveLength(1);
});

test('Non-protocol output does not affect the turn.', async () => {
  const { open } = on(
    onGo((agent) => {
      agent.write('Debugger attached.\n\n[1, 2]\n"text"\nnull\n{"jsonrpc":"2.0"}\n{}\n{"half": \n');
      agent.write('\u001b[31mred\u001b[0m\r\n');
      agent.say('still here');
      return endTurn;
    }),
  );
  const session = await open();
  expect(await session.run('go')).toMatchObject({ status: 'completed', text: 'still here' });
  expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
});

test('Non-protocol output is in the error of its own turn only.', async () => {
  let times = 0;
  const { firstTurn } = on(
    onGo((agent) => {
      if (++times > 1) throw new Refusal(-32_603, 'again');
      agent.write('\u001b[31mError: the key is not valid\u001b[0m\n');
      throw new Refusal(-32_603, 'Internal error');
    }),
  );
  const { session, turn } = await firstTurn('go');
  expect(turn.error).toEqual({
    code: 'provider_error',
    message: 'the agent failed: Internal error; output of the agent: Error: the key is not valid',
  });
  expect((await session.run('go')).error?.message).toBe('the agent failed: again');
});

test('Non-protocol output is in the error of an agent that exits, after its stderr.', async () => {
  const { open } = on(
    onGo((agent) => {
      agent.stderr('a trace\n');
      agent.write('no more credits\n');
      agent.exit(3);
      return never;
    }),
  );
  const { error } = await (await open()).run('go');
  expect(error?.message).toBe('the agent exited with code 3: a trace | no more credits');
});

test('Large output on stderr does not delay a turn.', async () => {
  const { firstTurn } = on(
    onGo((agent) => {
      for (let i = 0; i < 40; i++) agent.stderr(`${'chatter '.repeat(16_000)}\n`);
      agent.say('still here');
      return endTurn;
    }),
  );
  expect((await firstTurn('go')).turn).toMatchObject({ status: 'completed', text: 'still here' });
});

test('A plan is recorded with all its entries.', async () => {
  const { firstTurn } = on(
    onGo((agent) => {
      const entries = [{ content: 'first', status: 'completed' }, { content: 'then' }];
      agent.update({ sessionUpdate: 'plan', entries });
      return endTurn;
    }),
  );
  const { session, turn } = await firstTurn('go');
  expect(ofKind(session.watch.of(turn.turn_id), 'plan.updated')).toMatchObject([
    {
      payload: {
        entries: [
          { content: 'first', status: 'completed', priority: null },
          { content: 'then', status: 'pending', priority: null },
        ],
      },
    },
  ]);
});
