import { expect, test } from 'vitest';
import type { AcpAgent } from '../../../src/agents/acp/agent.ts';
import { AcpConversations } from '../../../src/agents/acp/conversations.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import {
  capabilities,
  initialized,
  type RawAgent,
  type AcpBehavior,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';
import { ofKind, runTurn } from '../../support/turns.ts';
import { readEvents } from '../../support/imports.ts';

const params = { provider: 'acp' as const };
const can = { ...capabilities, sessionCapabilities: { resume: {}, list: {} } };

/** An agent whose own program has a conversation with these prompts, each with a thought, a tool call and an answer. */
function withConversation(prompts: string[], directory: () => string): AcpBehavior {
  return {
    methods: {
      initialize: () => initialized({ agentCapabilities: can }),
      'session/list': () => ({
        sessions: [
          {
            sessionId: 'own',
            cwd: directory(),
            title: 'plan it',
            updatedAt: '2026-01-02T03:04:05Z',
          },
          { sessionId: 'other', cwd: '/elsewhere' },
        ],
      }),
      'session/load': ({ sessionId }, agent) => {
        for (const prompt of prompts) replay(agent, sessionId, prompt);
        return {};
      },
    },
  };
}

function replay(agent: RawAgent, sessionId: unknown, prompt: string): void {
  const text = (said: string) => ({ type: 'text', text: said });
  const updates = [
    { sessionUpdate: 'user_message_chunk', content: text(prompt.slice(0, 2)) },
    { sessionUpdate: 'user_message_chunk', content: text(prompt.slice(2)) },
    { sessionUpdate: 'agent_thought_chunk', content: text('hm') },
    { sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'ls', status: 'pending' },
    {
      sessionUpdate: 'tool_call_update',
      toolCallId: 'c1',
      status: 'failed',
      content: [{ type: 'content', content: text('nothing') }],
    },
    { sessionUpdate: 'agent_message_chunk', content: text('answer ') },
    { sessionUpdate: 'agent_message_chunk', content: text(`to ${prompt}`) },
  ];
  agent.send(
    ...updates.map((update) => ({ method: 'session/update', params: { sessionId, update } })),
  );
}

/** Starts a server with such an agent. The prompts can change. */
async function place(prompts: string[], agents: string[] = []) {
  let directory = '';
  const harness = await testRawAgent(
    withConversation(prompts, () => directory),
    { agents },
  );
  directory = harness.cwd;
  return harness;
}

const importOwn = (client: Client) =>
  client.call(endpoints.createSession, { body: { ...params, import: { ref: 'own' } } });

const pastOf = async (client: Client, session_id: string) =>
  (await client.call(endpoints.listPastTurns, { params: { session_id }, query: {} })).toReversed();

test('The list has the conversations that the agent lists, and the directory selects some of them.', async () => {
  const { client, cwd, agents } = await place([]);
  const all = await client.call(endpoints.listConversations, { params, query: {} });
  expect(all.map(({ ref, changed_at }) => [ref, changed_at])).toEqual([
    ['own', Date.parse('2026-01-02T03:04:05Z')],
    ['other', 0],
  ]);
  expect(all[0]).toMatchObject({ title: 'plan it', cwd, in_use: null, session_id: null });
  const some = await client.call(endpoints.listConversations, { params, query: { cwd } });
  expect(some.map(({ ref }) => ref)).toEqual(['own']);
  expect(agents.at(-1)?.last('session/list')?.params).toEqual({ cwd });
});

test('A conversation of an old list is found only if the agent still lists it.', async () => {
  let now = 0;
  let sessions = [{ sessionId: 'own', cwd: '/here' }];
  const asked: unknown[] = [];
  const process = {
    can: { list: true, load: true },
    ask: async (_method: string, query: object) => {
      asked.push(query);
      return { sessions };
    },
  };
  const conversations = new AcpConversations({
    program: () => 'raw',
    command: () => [],
    now: () => now,
    ask: (_what, _cwd, _signal, question) => question({ process } as unknown as AcpAgent),
  });
  const { signal } = new AbortController();
  await conversations.list({ cwd: '/here', limit: 10 }, signal);
  sessions = [];
  expect(await conversations.find('own', signal)).toMatchObject({ ref: 'own' });
  now = 60_000;
  expect(await conversations.find('own', signal)).toBeNull();
  expect(asked).toEqual([{ cwd: '/here' }, { cwd: '/here' }]);
});

test('An import stores the turns that the agent replays, without turns or usage, and continues by the same id.', async () => {
  const { client, cwd, agents } = await place(['one', 'two']);
  const { id } = await importOwn(client);
  const session = await client.call(endpoints.getSession, { params: { session_id: id } });
  expect(session).toMatchObject({
    title: 'plan it',
    cwd,
    usage: null,
    provider_session_ref: 'own',
    imported: { past_turns: 2, omitted_turns: 0, complete: true },
  });
  const past = await pastOf(client, id);
  expect(past.map(({ prompt, status }) => [prompt, status])).toEqual([
    ['one', 'unknown'],
    ['two', 'unknown'],
  ]);
  expect(past[0]?.items).toEqual([
    { kind: 'reasoning', status: 'completed', title: null, text: 'hm' },
    { kind: 'tool', status: 'failed', title: 'ls', text: 'nothing' },
    { kind: 'message', status: 'completed', title: null, text: 'answer to one' },
  ]);
  const turns = await client.call(endpoints.listTurns, { params: { session_id: id }, query: {} });
  expect(turns).toEqual([]);
  await runTurn(client, id, 'more');
  expect(agents.at(-1)?.last('session/resume')?.params).toMatchObject({ sessionId: 'own' });
  const [listed] = await client.call(endpoints.listConversations, { params, query: {} });
  expect(listed?.session_id).toBe(id);
});

test('Turns of the own program after a hand-back are stored once before the next turn.', async () => {
  const prompts = ['one'];
  const { client } = await place(prompts);
  const { id } = await importOwn(client);
  await runTurn(client, id, 'mine');
  const back = await client.call(endpoints.handBackSession, {
    params: { session_id: id },
    body: {},
  });
  expect(back).toMatchObject({ ref: 'own', command: [] });
  prompts.push('mine', 'theirs');
  await runTurn(client, id, 'mine again');
  await runTurn(client, id, 'and again');
  expect((await pastOf(client, id)).map(({ prompt }) => prompt)).toEqual(['one', 'theirs']);
  expect(ofKind(await readEvents(client, id), 'past.turn')).toHaveLength(2);
});

test('A hand-back of a session of a known agent returns the command of its own program.', async () => {
  const { client } = await place(['one'], ['opencode']);
  const { id } = await client.call(endpoints.createSession, {
    body: { ...params, agent: 'opencode', import: { ref: 'own' } },
  });
  const handed = await client.call(endpoints.handBackSession, {
    params: { session_id: id },
    body: {},
  });
  expect(handed.command).toEqual(['opencode', '--session', 'own']);
});

test('A session whose agent is live starts no further agent to read past turns.', async () => {
  const { client, agents } = await place(['one']);
  const { id } = await importOwn(client);
  await runTurn(client, id, 'first');
  const count = agents.length;
  await runTurn(client, id, 'second');
  expect(agents).toHaveLength(count);
});

test('A second import of a conversation returns the open session.', async () => {
  const { client } = await place(['one']);
  const first = await importOwn(client);
  expect((await importOwn(client)).id).toBe(first.id);
});

test.each([
  ['list', { ...capabilities, sessionCapabilities: { resume: {} } }, 'no session/list'],
  ['load', { ...can, loadSession: false }, 'no session/load'],
])('An agent that does not announce session/%s has no conversations.', async (_what, has, why) => {
  const behavior = { methods: { initialize: () => initialized({ agentCapabilities: has }) } };
  const { client } = await testRawAgent(behavior);
  expect(await client.call(endpoints.listConversations, { params, query: {} })).toEqual([]);
  await expect(importOwn(client)).rejects.toMatchObject({
    code: 'provider_unavailable',
    message: expect.stringContaining(why) as string,
  });
});

test('A conversation that the agent does not list is not found.', async () => {
  const { client } = await place([]);
  const body = { ...params, import: { ref: 'never' } };
  await expect(client.call(endpoints.createSession, { body })).rejects.toMatchObject({
    code: 'not_found',
  });
});
