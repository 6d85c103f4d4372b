import { expect, test } from 'vitest';
import { Choices } from '../../../src/agents/acp/choices.ts';
import { DeferredOptions } from '../../../src/agents/acp/deferred-options.ts';
import { LastSeen } from '../../../src/agents/acp/last-seen.ts';
import { nothingOffered } from '../../../src/agents/acp/options.ts';
import { defaultSettings } from '../../../src/agents/provider.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { itemsOf } from '../../support/providers/calls.ts';
import {
  endTurn,
  never,
  type RawAgent,
  type RawSession,
  sharedRawAgent,
} from '../../support/providers/raw-agent.ts';
import { onGo, textContent } from '../../support/providers/rows.ts';

const on = sharedRawAgent();

const text = (words: string) => ({
  sessionUpdate: 'agent_message_chunk',
  content: { type: 'text', text: words },
});
const make = {
  sessionUpdate: 'tool_call',
  toolCallId: 'c1',
  title: 'make it',
  kind: 'execute',
  rawInput: { command: 'make' },
  status: 'in_progress',
};
const made = {
  sessionUpdate: 'tool_call_update',
  toolCallId: 'c1',
  status: 'completed',
  content: [textContent('made')],
};

/** Answers the prompt and sends more updates in the same write. */
function answerAndSay(agent: RawAgent, ...more: object[]): Promise<never> {
  const { id } = agent.last('session/prompt') ?? {};
  agent.send({ id, result: endTurn }, ...more.map((one) => agent.updating(one)));
  return never;
}

function ofKind(session: RawSession, kind: string, turnId: string | null) {
  return session.watch.of(turnId).filter((event) => event.kind === kind);
}

test('Text and tool calls after the end of a turn are recorded in order, without a turn.', async () => {
  const { client, firstTurn } = on(
    onGo((agent) => {
      agent.update(text('first'), make);
      return answerAndSay(agent, text('late words'), made, text('after that'));
    }),
  );
  const { session, turn } = await firstTurn('go');
  await session.watch.until(
    'the last words',
    ({ kind, payload }) => kind === 'message.completed' && payload.text === 'after that',
  );
  const late = session.watch.of(null).filter(({ kind }) => kind.endsWith('.completed'));
  expect(late.map(({ kind, payload }) => [kind, payload.text])).toEqual([
    ['message.completed', 'late words'],
    ['tool.completed', 'made'],
    ['message.completed', 'after that'],
  ]);
  expect(turn.text).toBe('first');
  expect((await itemsOf(client, turn)).map(({ kind }) => kind)).toEqual(['message', 'tool']);
});

test('The end of a tool call after its turn has the title, kind and input of the call.', async () => {
  const { firstTurn, agents } = on(
    onGo((agent) => {
      agent.update(make);
      return endTurn;
    }),
  );
  const { session } = await firstTurn('go');
  agents[0]?.update(made);
  const { payload } = await session.watch.until(
    'the end of the call',
    ({ kind, turn_id }) => kind === 'tool.completed' && turn_id === null,
  );
  expect(payload).toMatchObject({
    status: 'completed',
    text: 'made',
    tool: { call_ref: 'c1', title: 'make it', kind: 'execute', input: { command: 'make' } },
  });
});

test('The end of a tool call in the next turn has the title of the call.', async () => {
  const { firstTurn } = on({
    turns: {
      one(agent) {
        agent.update(make);
        return endTurn;
      },
      two(agent) {
        agent.update(made);
        return endTurn;
      },
    },
  });
  const { session } = await firstTurn('one');
  const { turn_id } = await session.run('two');
  const [ended] = ofKind(session, 'tool.completed', turn_id);
  expect(ended?.payload).toMatchObject({ text: 'made', tool: { title: 'make it' } });
});

test('An update of a completed call starts no other call.', async () => {
  const { firstTurn, agents } = on(
    onGo((agent) => {
      agent.update(make, made);
      return endTurn;
    }),
  );
  const { session } = await firstTurn('go');
  agents[0]?.update(made, text('that was all'));
  await session.watch.until(
    'the words',
    ({ kind, turn_id }) => kind === 'message.completed' && turn_id === null,
  );
  expect(ofKind(session, 'tool.started', null)).toEqual([]);
});

test('A call that reuses the id of an open call of an earlier turn is a new call.', async () => {
  const { firstTurn } = on(
    onGo((agent) => {
      agent.update({ ...make, rawInput: { command: 'make other' }, kind: undefined });
      return endTurn;
    }),
  );
  const { session } = await firstTurn('go');
  const { turn_id } = await session.run('go');
  const [begun] = ofKind(session, 'tool.started', turn_id);
  expect(begun?.payload.tool).toMatchObject({ input: { command: 'make other' } });
  expect(begun?.payload.tool).toMatchObject({ kind: 'other' });
});

const from = (sessionId: string, ...updates: object[]) =>
  updates.map((update) => ({ method: 'session/update', params: { sessionId, update } }));

test('Text of another session is shown as a subagent call, apart from the text of the turn.', async () => {
  const { client, firstTurn } = on(
    onGo((agent) => {
      agent.say('I look ');
      agent.send(...from('child', text('child words')));
      agent.say('and find.');
      agent.send(...from('child', { sessionUpdate: 'session_info_update', title: 'the finder' }));
      agent.send(...from('child', text(', and more')));
      return endTurn;
    }),
  );
  const { session, turn } = await firstTurn('go');
  const items = await itemsOf(client, turn);
  const words = items.filter(({ kind }) => kind === 'message').map((one) => one.text);
  expect(words.join('')).toBe('I look and find.');
  const tools = items.filter(({ kind }) => kind === 'tool');
  expect(tools).toMatchObject([
    { text: 'child words, and more', tool: { title: 'subagent: the finder' } },
  ]);
  expect((await session.record()).title).toBe('go');
});

test('A plan, commands or usage of another session do not change the turn.', async () => {
  const { firstTurn } = on(
    onGo((agent) => {
      agent.send(
        ...from(
          'child',
          { sessionUpdate: 'plan', entries: [{ content: 'x', status: 'pending' }] },
          { sessionUpdate: 'usage_update', used: 5, size: 9 },
          { sessionUpdate: 'available_commands_update', availableCommands: [{ name: 'c' }] },
        ),
      );
      return endTurn;
    }),
  );
  const { session, turn } = await firstTurn('go');
  expect(turn.usage).toBeNull();
  expect(ofKind(session, 'plan.updated', turn.turn_id)).toEqual([]);
});

test('A tool call of another session is a separate call, even if a call of the turn has its id.', async () => {
  const { client, firstTurn } = on(
    onGo((agent) => {
      agent.update(make);
      agent.send(...from('child', { ...make, title: 'make theirs' }, made));
      agent.update({ ...made, content: [textContent('ours')] });
      return endTurn;
    }),
  );
  const items = await itemsOf(client, (await firstTurn('go')).turn);
  expect(items.map(({ tool, text: said }) => [tool?.title, said])).toEqual([
    ['make it', 'ours'],
    ['make theirs', 'made'],
  ]);
});

test('A permission request of another session shows its own call.', async () => {
  const { open } = on(
    onGo(async (agent) => {
      agent.update(make);
      const toolCall = { toolCallId: 'c1', title: 'remove theirs', kind: 'delete' };
      void agent.request('session/request_permission', {
        sessionId: 'child',
        toolCall,
        options: [{ optionId: 'a1', kind: 'allow_once', name: 'Allow' }],
      });
      return never;
    }),
  );
  const session = await open({ permission_mode: 'require_approval' });
  await session.send('go');
  const { payload } = await session.watch.kind('approval.requested');
  const { title, request } = payload.approval as { title: string; request: object };
  expect(title).toContain('remove theirs');
  expect(JSON.stringify(request)).not.toContain('make');
});

test('An interrupted turn waits for no further deferred option.', async () => {
  const choices = new Choices(nothingOffered, null, {}, () => undefined);
  const deferred = new DeferredOptions({
    clock: new ManualClock(),
    lastSeen: new LastSeen(),
    choices: () => choices,
    gone: () => new Promise(() => undefined),
  });
  deferred.expectOptions();
  const settings = { ...defaultSettings(), model: 'large', thinkingEffort: 'high' };
  const interrupted = new AbortController();
  const first = deferred.isDeferred('model', settings, interrupted.signal);
  interrupted.abort();
  expect(await first).toBe(false);
  expect(await deferred.isDeferred('thinkingEffort', settings, interrupted.signal)).toBe(false);
  expect(deferred.mayBeOffered(settings)).toBe(true);
});
