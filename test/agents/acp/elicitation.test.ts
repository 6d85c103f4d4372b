import { expect, test } from 'vitest';
import { anError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Approval } from '../../../src/api/approvals.ts';
import { readElicitation } from '../../../src/agents/acp/elicitation.ts';
import { turnOf, until } from '../../support/providers/calls.ts';
import { WatchedSession } from '../../support/providers/provider-harness.ts';
import {
  endTurn,
  type Message,
  never,
  type RawAgent,
  type RawSession,
  type RawAgentHarness,
  sharedRawAgent,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';
import { asking, onGo } from '../../support/providers/rows.ts';
import { ofKind } from '../../support/turns.ts';

const on = sharedRawAgent();

const form = {
  type: 'object',
  required: ['name', 'count', 'colour'],
  properties: {
    name: { type: 'string', title: 'Name', description: 'How is it called?', minLength: 2 },
    count: { type: 'integer', title: 'Count', minimum: 1 },
    ratio: { type: 'number' },
    sure: { type: 'boolean', description: 'Are you sure?', default: true },
    colour: { type: 'string', enum: ['red', 'green'], default: 'green' },
    size: {
      type: 'string',
      oneOf: [
        { const: 's', title: 'Small', description: 'fits a pocket' },
        { const: 'l', title: 'Large' },
      ],
    },
    parts: {
      type: 'array',
      items: {
        anyOf: [
          { const: 'a', title: 'Part' },
          { const: 'b', title: 'Part' },
        ],
      },
    },
    words: { type: 'array', items: { type: 'string' } },
    unlike: { type: 'hologram' },
  },
};

/** Sends `elicitation/create` and repeats the answer as a message. */
function elicit(agent: RawAgent, params: object): Promise<unknown> {
  const sessionId = agent.last('session/prompt')?.params?.sessionId;
  return agent
    .request('elicitation/create', { sessionId, message: 'Some questions', ...params })
    .then(({ result, error }) => {
      agent.say(JSON.stringify(result ?? error));
      return endTurn;
    });
}

const inForm = onGo((agent) => elicit(agent, { mode: 'form', requestedSchema: form }));

async function answer(
  { client }: RawAgentHarness,
  session: RawSession,
  body: object,
): Promise<{ approval: Approval; said: unknown }> {
  const { turnId, approval } = await session.asks('go', asking);
  const params = { session_id: session.id, approval_id: approval.id };
  await client.call(endpoints.decideApproval, { params, body: body as never });
  await session.watch.end(turnId);
  const { text } = await turnOf(client, session, turnId);
  return { approval, said: JSON.parse(text ?? 'null') };
}

test('An agent can send elicitations with forms and pages.', async () => {
  const { open, agents } = on({});
  await (await open()).run('hello');
  expect(agents[0]?.last('initialize')?.params?.clientCapabilities).toMatchObject({
    elicitation: { form: {}, url: {} },
    session: { notices: {}, compaction: {} },
  });
});

test('A form is a question with one part per field, and the answers have the types of the fields.', async () => {
  const harness = on(inForm);
  const { approval, said } = await answer(harness, await harness.open(), {
    decision: 'accept',
    answers: {
      name: ['it'],
      count: ['3'],
      ratio: ['0.5'],
      sure: ['no'],
      size: ['Small'],
      parts: ['Part (a)', 'Part (b)'],
      words: ['x', 'y'],
      unlike: ['z'],
    },
  });
  expect(approval).toMatchObject({ kind: 'question', title: 'Some questions', subject: null });
  const free = { free: true, multiple: false, options: [] };
  expect(approval.questions).toMatchObject([
    {
      id: 'name',
      question: 'How is it called? (at least 2 characters)',
      header: 'Name',
      required: true,
      ...free,
    },
    { id: 'count', type: 'integer', required: true, ...free },
    { id: 'ratio', type: 'number', required: false, ...free },
    { id: 'sure', question: 'Are you sure? (default: yes)', required: false, free: false },
    { id: 'colour', required: false, options: [{ label: 'red' }, { label: 'green' }] },
    {
      id: 'size',
      options: [{ label: 'Small', description: 'fits a pocket' }, { label: 'Large' }],
    },
    { id: 'parts', multiple: true, options: [{ label: 'Part (a)' }, { label: 'Part (b)' }] },
    { id: 'words', multiple: true, free: true },
    { id: 'unlike', type: 'text', ...free },
  ]);
  expect(said).toEqual({
    action: 'accept',
    content: {
      name: 'it',
      count: 3,
      ratio: 0.5,
      sure: false,
      // A field without an answer has the default of the form.
      colour: 'green',
      size: 's',
      parts: ['a', 'b'],
      words: ['x', 'y'],
      unlike: 'z',
    },
  });
});

test('An answer can name a field without a description by the text of its question.', async () => {
  const properties = { port: { type: 'integer', minimum: 1 } };
  const requestedSchema = { type: 'object', required: ['port'], properties };
  const harness = on(onGo((agent) => elicit(agent, { mode: 'form', requestedSchema })));
  const { approval, said } = await answer(harness, await harness.open(), {
    decision: 'accept',
    answers: { 'port (at least 1)': ['8080'] },
  });
  expect(approval.questions).toMatchObject([{ id: 'port', question: 'port (at least 1)' }]);
  expect(said).toEqual({ action: 'accept', content: { port: 8080 } });
});

test('An agent receives a decline if the user declines its form.', async () => {
  const harness = on(inForm);
  const { said } = await answer(harness, await harness.open(), { decision: 'decline' });
  expect(said).toEqual({ action: 'decline' });
});

test('An interrupt of the turn cancels its form.', async () => {
  const { client, open, agents } = on(
    onGo((agent) => {
      void elicit(agent, { mode: 'form', requestedSchema: form });
      return never;
    }),
  );
  const session = await open();
  const { turnId } = await session.asks('go', asking);
  const params = { session_id: session.id, turn_id: turnId };
  await client.call(endpoints.interruptTurn, { params, body: {} });
  await agents[0]?.untilReceived('session/cancel');
  const isAnswer = ({ id, method }: Message) => id === 'ask-1' && !method;
  await until('it is answered', () => agents[0]?.received.some(isAnswer) === true);
  expect(agents[0]?.received.find(isAnswer)).toMatchObject({ result: { action: 'cancel' } });
  agents[0]?.send({
    id: agents[0].last('session/prompt')?.id,
    result: { stopReason: 'cancelled' },
  });
  await session.watch.end(turnId);
});

test('A page shows its address and is accepted without an answer.', async () => {
  const harness = on(
    onGo((agent) => elicit(agent, { mode: 'url', url: 'http://127.0.0.1/x', elicitationId: 'e' })),
  );
  const { approval, said } = await answer(harness, await harness.open(), {
    decision: 'accept',
    answers: {},
  });
  expect(approval).toMatchObject({
    kind: 'question',
    title: 'Some questions http://127.0.0.1/x',
    questions: [{ id: 'page', question: 'open http://127.0.0.1/x', required: false }],
  });
  expect(said).toEqual({ action: 'accept' });
});

test('A page that is completed elsewhere needs no answer.', async () => {
  const { client, open, agents } = on(
    onGo((agent) => {
      const done = elicit(agent, { mode: 'url', url: 'http://127.0.0.1/x', elicitationId: 'e' });
      return done;
    }),
  );
  const session = await open();
  const { turnId } = await session.asks('go', asking);
  agents[0]?.send({ method: 'elicitation/complete', params: { elicitationId: 'e' } });
  await session.watch.end(turnId);
  expect((await turnOf(client, session, turnId)).text).toBe('{"action":"accept"}');
  expect(ofKind(session.watch.events, 'approval.resolved')).toMatchObject([
    { payload: { approval: { status: 'cancelled' } } },
  ]);
});

test('A form is declined with a notice if the permission mode does not ask the user.', async () => {
  const { firstTurn } = on(inForm);
  const { session, turn } = await firstTurn('go');
  expect(turn).toMatchObject({ status: 'completed', text: '{"action":"decline"}' });
  expect(ofKind(session.watch.of(turn.turn_id), 'session.notice')).toMatchObject([
    {
      payload: anError('question_declined', 'Some questions'),
    },
  ]);
});

test.each([{ mode: '_vendor', x: 1 }, { mode: 'form' }, { mode: 'url' }, null, 'x'])(
  'An elicitation that cannot be read is declined: %j.',
  (params) => expect(readElicitation(params)).toBeNull(),
);

test('A form survives a restart, and its answer goes to the same question of the same call.', async () => {
  const call = {
    toolCallId: 'q',
    title: 'AskUser',
    kind: 'other',
    rawInput: { questions: ['Which colour?'] },
  };
  const requestedSchema = {
    type: 'object',
    required: ['colour'],
    properties: { colour: { type: 'string', enum: ['red', 'green'] } },
  };
  const ask = (agent: RawAgent) => {
    agent.update({ sessionUpdate: 'tool_call', ...call });
    return elicit(agent, { mode: 'form', requestedSchema, toolCallId: 'q' });
  };
  const harness = await testRawAgent({
    turns: { go: ask },
    methods: {
      'session/prompt': (params, agent) => {
        const [{ text = '' } = {}] = params.prompt as { text?: string }[];
        if (text === 'go' || text.startsWith('The request below was approved')) return ask(agent);
        return endTurn;
      },
    },
  });
  const first = await harness.open();
  const { turnId, approval } = await first.asks('go', asking);
  expect(approval.subject).not.toBeNull();
  await harness.restart();
  const session = new WatchedSession(harness.client, first.id);
  await using watch = session.watch;
  const params = { session_id: first.id, approval_id: approval.id };
  const body = { decision: 'accept' as const, answers: { colour: ['red'] } };
  await harness.client.call(endpoints.decideApproval, { params, body });
  await watch.end(turnId);
  expect(await turnOf(harness.client, session, turnId)).toMatchObject({
    status: 'completed',
    text: '{"action":"accept","content":{"colour":"red"}}',
  });
});

test.each([
  ['without fields', { type: 'object' }],
  ['whose fields are not an object', { type: 'object', properties: ['name'] }],
])('A form %s is accepted without an answer.', async (_name, requestedSchema) => {
  const { client, firstApproval } = on(
    onGo((agent) => elicit(agent, { mode: 'form', requestedSchema })),
  );
  const { session, turnId, approval } = await firstApproval('go', asking);
  expect(approval.questions).toMatchObject([{ id: 'consent', question: 'Some questions' }]);
  const params = { session_id: session.id, approval_id: approval.id };
  const body = { decision: 'accept' as const, answers: {} };
  await client.call(endpoints.decideApproval, { params, body });
  await session.watch.end(turnId);
  const text = '{"action":"accept","content":{}}';
  expect(await turnOf(client, session, turnId)).toMatchObject({ text });
});

test('A form keeps its other fields if one field cannot be read.', () => {
  const properties = { good: { type: 'integer' }, bad: true };
  const read = readElicitation({ message: 'm', requestedSchema: { type: 'object', properties } });
  const fields = { good: { type: 'integer' }, bad: { type: 'string' } };
  expect(read).toMatchObject({ requestedSchema: { properties: fields } });
});
