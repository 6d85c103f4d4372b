import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { HISTORY_PAUSE_MS } from '../../../src/agents/acp/reopen.ts';
import { type Clock, systemClock } from '../../../src/core/lib/clock.ts';
import { atLength, someOf } from '../../support/at-length.ts';
import { scaled } from '../../support/patience.ts';
import { ofKind } from '../../support/turns.ts';
import { interrupt, itemsOf, until } from '../../support/providers/calls.ts';
import {
  capabilities,
  endTurn,
  initialized,
  type Message,
  never,
  type Params,
  type RawAgent,
  type RawSession,
  type RawAgentHarness,
  type AcpBehavior,
  sharedRawAgent,
  usualOptions,
} from '../../support/providers/raw-agent.ts';
import {
  receivedMethods,
  expectWorks,
  loseAgent,
  withLostAgent,
  offering,
  onlyLoad,
  onNthCall,
  opened,
  ready,
  refOf,
  reopened,
  select,
  onFirstCall,
  untilNoneLives,
  type Handler,
} from './lost-agent.ts';
import { asking, endAgent, refuse, textContent, touch } from '../../support/providers/rows.ts';

const on = sharedRawAgent();
const withLost = withLostAgent(on);

const methods = ['session/resume', 'session/load'];
const starting = ['initialize', 'session/new'];
const unavailable = { status: 'failed', text: null, error: { code: 'provider_unavailable' } };
const loggedOut = { ...unavailable, error: { code: 'auth_required' } };
const lastingFailure = { status: 'failed', error: { code: 'resume_failed' } };

const offers: Record<string, [object, string]> = {
  resume: [capabilities, 'session/resume'],
  'resume alone': [{ sessionCapabilities: { resume: {} } }, 'session/resume'],
  'load alone': [onlyLoad, 'session/load'],
  'load, and null for resume': [
    { ...onlyLoad, sessionCapabilities: { resume: null } },
    'session/load',
  ],
};
test.each(someOf(Object.entries(offers), 2))(
  'A session is resumed by an agent that supports %s.',
  async (_name, [can, method]) => {
    const [{ agents, cwd }, session] = await withLost({ methods: offering(can) });
    await expectWorks(session);
    const sessionId = refOf(agents);
    expect(receivedMethods(agents[1])).toEqual(['initialize', method, 'session/prompt']);
    expect(agents[1]?.last(method)?.params).toEqual({
      sessionId,
      cwd,
      mcpServers: [expect.objectContaining({ name: 'cadre' })],
    });
    expect(agents[1]?.last('session/prompt')?.params).toMatchObject({ sessionId });
  },
);

test('A session is resumed even if one capability of the agent has an invalid shape.', async () => {
  const [_harness, session] = await withLost({
    methods: offering({ ...capabilities, promptCapabilities: ['image'] }),
  });
  return expectWorks(session);
});

const tooLittle = [{}, { loadSession: false, sessionCapabilities: { list: {} } }, null, undefined];
test.each(someOf(tooLittle, 2))(
  'A session fails with its turn if the agent only supports %j.',
  async (can) => {
    const [{ agents, noAgents }, session] = await withLost({ methods: offering(can) });
    const turn = await session.run('after');
    expect(turn).toMatchObject(lastingFailure);
    expect(turn.error?.message).toContain('cannot resume sessions');
    await expectFailed(session);
    expect(receivedMethods(agents[1])).toEqual(['initialize']);
    await noAgents();
  },
);

const refusals: [number, string, object | undefined, RegExp][] = [
  [-32_602, 'Invalid params', { details: 'unknown session' }, /Invalid params.*unknown session/],
  [-32_002, 'Resource not found', { uri: 'raw' }, /Resource not found/],
  [-32_603, 'Internal error', { details: 'Session not found' }, /Session not found/],
  [404, '', { details: 'gone' }, /gone/],
  [-32_601, 'Method not found', undefined, /Method not found/],
];
test.each(someOf(refusals, 2))(
  'A session fails with its turn if the agent refuses it with %i "%s" %j.',
  async (code, words, data, says) => {
    const behavior = reopened('session/load', () => refuse(code, words, data));
    const [{ noAgents, diagnostics }, session] = await withLost(behavior);
    const turn = await session.run('after');
    expect(turn).toMatchObject(lastingFailure);
    expect(turn.error?.message).toMatch(says);
    await expectFailed(session);
    await noAgents();
    expect((await diagnostics()).last_error).toBe(turn.error?.message);
  },
);

test.each([
  ['on the list of the agent survives', true],
  ['that is not on the list of the agent fails with its turn', false],
])('A session %s, whatever the error of the agent says.', async (_what, isListed) => {
  const can = { ...capabilities, sessionCapabilities: { resume: {}, list: {} } };
  let ref: unknown;
  const refuses: Handler = ({ sessionId }) => {
    ref = sessionId;
    return refuse(-32_603, isListed ? 'Session not found' : 'Something odd');
  };
  const methods = {
    ...offering(can),
    'session/resume': refuses,
    'session/load': refuses,
    'session/list': () => ({ sessions: [{ sessionId: isListed ? ref : 'another' }] }),
  };
  const [_harness, session] = await withLost({ methods });
  const turn = await session.run('after');
  expect(turn).toMatchObject(isListed ? unavailable : lastingFailure);
  if (isListed) expect(await session.record()).toMatchObject(ready);
  else await expectFailed(session);
});

const troubles: [string, object][] = [
  ['Invalid session identifier "ID". Use --list-sessions to see them.', lastingFailure],
  ['No previous sessions found for this project.', lastingFailure],
  ['The disk is full', unavailable],
];
test.each(someOf(troubles, 2))(
  'The error of the agent determines whether the session fails or only its turn: %s.',
  async (words, expected) => {
    const behavior = reopened('session/load', ({ sessionId }) =>
      refuse(-32_603, 'Internal error', { details: words.replace('ID', String(sessionId)) }),
    );
    const [_harness, session] = await withLost(behavior);
    expect(await session.run('after')).toMatchObject(expected);
  },
);

test('A session survives an error if the agent can load another session id.', async () => {
  const refs: unknown[] = [];
  const behavior = reopened('session/load', ({ sessionId }) => {
    refs.push(sessionId);
    return sessionId === refs[0] ? refuse(-32_603, 'the session is open elsewhere') : {};
  });
  const [_harness, session] = await withLost(behavior);
  expect(await session.run('after')).toMatchObject(unavailable);
  expect(await session.record()).toMatchObject(ready);
});

// The resume of OpenClaw only knows the sessions of its own process.
test('A session is loaded if the agent cannot resume it but can load it.', async () => {
  const [{ agents }, session] = await withLost(
    reopened('session/resume', () => refuse(-32_603, 'Session not found')),
  );
  await expectWorks(session);
  expect(agents[1]?.last('session/load')?.params?.sessionId).toBe(refOf(agents));
});

test('A session that the agent only claims to have resumed stays ready, and its turn fails.', async () => {
  const [_harness, session] = await withLost({
    turns: { after: () => refuse(-32_002, 'no such session') },
  });
  const turn = await session.run('after');
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_error' } });
  expect(turn.error?.message).toContain('no such session');
  expect(await session.record()).toMatchObject(ready);
});

test('A session is opened again instead of resumed if no agent has seen a turn of it.', async () => {
  const harness = on({
    methods: { 'session/new': onNthCall(1, () => refuse(-32_603, 'not now'), opened) },
  });
  const { agents } = harness;
  const session = await harness.open();
  expect(await session.run('one')).toMatchObject(unavailable);
  const objected = await session.run('two', { model: 'none' });
  expect(objected.error?.code).toBe('invalid_model');
  await loseAgent(harness);
  expect((await session.record()).provider_session_ref).toBeNull();
  await expectWorks(session, 'three');
  for (const agent of agents) expect(receivedMethods(agent).slice(0, 2)).toEqual(starting);
  expect((await session.record()).provider_session_ref).toBe(refOf(agents, 2));
});

test('Several sessions are each resumed with their own reference.', async () => {
  const harness = on({});
  const { open, agents } = harness;
  const [first, second] = [await open(), await open()];
  await first.run('one');
  await second.run('two');
  for (const agent of agents) await endAgent(agent);
  await untilNoneLives(harness);
  await second.run('two');
  await first.run('one');
  const resumed = agents.slice(2).map((agent) => agent.last('session/resume')?.params);
  const refs = [refOf(agents, 1), refOf(agents, 0)];
  expect(resumed.map((params) => params?.sessionId)).toEqual(refs);
});

const silences: Record<string, Handler> = {
  'session/resume': onFirstCall(() => never),
  initialize: onNthCall(
    2,
    () => never,
    () => initialized(),
  ),
};
test.each(someOf(Object.entries(silences), 2))(
  'An agent that never answers %s fails only the turn and is stopped.',
  async (method, handler) => {
    const limit = scaled(3000);
    const says = new RegExp(
      `request "${method}" to the agent failed: the agent sent no answer within ${limit / 1000} s`,
    );
    const [harness, session] = await withLost(
      { methods: { [method]: handler } },
      { acp: { request_timeout_ms: limit } },
    );
    return expectAnotherAgent(harness, session, says);
  },
);

const deaths: Record<string, [(agent: RawAgent) => unknown, RegExp]> = {
  dies: [
    (agent) => {
      agent.stderr('panic: no disk\n');
      agent.exit(3);
    },
    /exited with code 3: panic: no disk/,
  ],
  'exits without output': [(agent) => agent.exit(0), /exited with code 0/],
  'closes its output but keeps running': [(agent) => agent.hangUp(), /was stopped/],
  'is killed': [({ pid }) => process.kill(pid, 'SIGKILL'), /SIGKILL/],
};
test.each(someOf(Object.entries(deaths), 2))(
  'An agent that %s fails only the turn.',
  async (_name, [die, says]) => {
    const dying = onFirstCall((agent) => {
      die(agent);
      return never;
    });
    const [harness, session] = await withLost(reopened('session/resume', dying));
    return expectAnotherAgent(harness, session, says);
  },
);

test.each(someOf(methods, 2))(
  'An agent without a login at %s fails only the turn, with the login hint.',
  async (method) => {
    const details = { details: 'run: raw login' };
    const locked = onFirstCall(() => refuse(-32_000, 'Authentication required', details));
    const [harness, session] = await withLost(reopened(method, locked));
    return expectAnotherAgent(harness, session, /Authentication required.*run: raw login/, {
      method,
      failure: loggedOut,
    });
  },
);

test('An agent without a login fails the first turn, and the next turn opens the session.', async () => {
  const { firstTurn, agents, noAgents } = on({
    methods: { 'session/new': onNthCall(1, () => refuse(-32_000, 'Please log in'), opened) },
  });
  const { session, turn } = await firstTurn('one');
  expect(turn).toMatchObject(loggedOut);
  expect(turn.error?.message).toContain('Please log in');
  expect(await session.record()).toMatchObject(ready);
  await noAgents();
  await expectWorks(session, 'two');
  expect(receivedMethods(agents[1])).toEqual([...starting, 'session/prompt']);
});

test('An interrupt stops an agent that is still resuming, and the next turn resumes the session.', async () => {
  const [{ client, agents }, session] = await withLost(
    reopened(
      'session/resume',
      onFirstCall(() => never),
    ),
  );
  const turnId = await session.send('during');
  await until('it is asked', () => agents[1]?.last('session/resume') !== undefined);
  const { status, turn } = await interrupt(client, session, turnId);
  expect([status, turn.status]).toEqual([202, 'interrupted']);
  await until('the agent is gone', () => agents[1]?.gone === true);
  expect(await session.record()).toMatchObject(ready);
  await expectWorks(session);
  expect(agents[2]?.last('session/resume')?.params?.sessionId).toBe(refOf(agents));
});

test('A session that is closed stops its agent that is still resuming.', async () => {
  const [{ client, agents, noAgents }, session] = await withLost(
    reopened('session/resume', () => never),
  );
  const turnId = await session.send('during');
  await until('it is asked', () => agents[1]?.last('session/resume') !== undefined);
  const params = { session_id: session.id };
  await client.call(endpoints.closeSession, { params, body: {} });
  expect((await session.watch.end(turnId)).kind).toBe('turn.interrupted');
  await noAgents();
  expect(await session.record()).toMatchObject({ status: 'closed', failure: null });
});

const modes = { currentModeId: 'default', availableModes: [{ id: 'default' }, { id: 'plan' }] };
const plan = { permission_mode: 'plan' };
const answers: [string, unknown, object?][] = [
  ['null', null],
  ['an empty object', {}],
  ['another id', { sessionId: 'another' }],
  ['a text instead of modes', { modes: 'plan' }],
  ['modes without a list', { modes: { currentModeId: 'plan' } }],
  ['invalid options', { configOptions: { id: 3 } }],
  ['modes and invalid options', { modes, configOptions: [{ id: 3 }] }, plan],
  ['modes without a current one', { modes: { ...modes, currentModeId: null } }, plan],
  ['a number instead of an id', { sessionId: 7 }],
  ['a text', 'resumed'],
  [
    'modes with one invalid entry',
    { modes: { ...modes, availableModes: [{ id: 'plan' }, {}] } },
    plan,
  ],
  ['true', true],
  [
    'options with one invalid entry',
    { configOptions: [{ id: 3 }, select('the-mode', 'mode', 'default', 'plan')] },
    plan,
  ],
];
test.each(someOf(answers, 3))(
  'An agent that answers %s to the resume request resumes the session.',
  async (_name, answer, settings = {}) => {
    const behavior = reopened('session/resume', () => answer);
    const [{ agents }, session] = await withLost(behavior);
    await expectWorks(session, 'after', settings);
    expect(agents[1]?.last('session/prompt')?.params?.sessionId).toBe(refOf(agents));
    expect((await session.record()).provider_session_ref).toBe(refOf(agents));
  },
);

const history = [
  { sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'an old question' } },
  { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'an old thought' } },
  { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'an old answer' } },
  { sessionUpdate: 'tool_call', ...touch, title: 'an old tool', status: 'pending' },
  {
    sessionUpdate: 'tool_call_update',
    toolCallId: touch.toolCallId,
    status: 'in_progress',
    content: [textContent('an old output')],
  },
  { sessionUpdate: 'plan', entries: [{ content: 'an old step', status: 'pending' }] },
  { sessionUpdate: 'usage_update', used: 50, size: 100, cost: { amount: 1, currency: 'USD' } },
  { sessionUpdate: 'an old kind' },
];
const replay: Handler = ({ sessionId }, agent) =>
  agent.send(
    ...history.map((update) => ({ method: 'session/update', params: { sessionId, update } })),
  );

test.each(someOf(methods, 2))(
  'A history that the agent replays during %s belongs to no turn.',
  (method) => expectNothingOld(reopened(method, replay)),
);

test('A long replayed history belongs to no turn.', () => {
  const replayAll: Handler = (params, agent) => {
    for (let times = 0; times < atLength(100, 1000, 1000); times++) replay(params, agent);
  };
  return expectNothingOld(reopened('session/load', replayAll));
});

// Gemini CLI answers first and then replays the history.
test('A history that the agent replays after its answer belongs to no turn.', () => {
  const replayed = Promise.withResolvers<void>();
  const goOn = async (params: Params, agent: RawAgent) => {
    // The answer proves that cadre has read everything before the ping.
    await agent.request('_raw/ping', {});
    replay(params, agent);
    await agent.request('_raw/ping', {});
    replayed.resolve();
  };
  // Even on a slow machine, the agent replays its history before the pause ends.
  const sleep: Clock['sleep'] = async (ms, signal) => {
    if (ms === HISTORY_PAUSE_MS) await replayed.promise;
    return systemClock.sleep(ms, signal);
  };
  const clock = { ...systemClock, sleep };
  const late: Handler = (params, agent) => void setImmediate(() => void goOn(params, agent));
  const hello = async (agent: RawAgent) => {
    await replayed.promise;
    agent.say('hello');
    return endTurn;
  };
  const behavior = { ...reopened('session/load', late), turns: { hello } };
  return expectNothingOld(behavior, { clock });
});

test('A history that the agent replays after it has refused to load the session creates no events.', async () => {
  const refusal = { code: -32_603, message: 'Internal error' };
  const refuseAndReplay = (agent: RawAgent) => {
    const request = agent.last('session/load');
    const params = { sessionId: request?.params?.sessionId };
    const rows = Array.from({ length: 10 }, () => history).flat();
    const updates = rows.map((update) => ({
      method: 'session/update',
      params: { ...params, update },
    }));
    agent.send({ id: request?.id, error: refusal }, ...updates);
    return never;
  };
  const [harness, session] = await withLost(reopened('session/load', onFirstCall(refuseAndReplay)));
  expect(await session.run('hello')).toMatchObject(unavailable);
  await harness.noAgents();
  await expectWorks(session);
  expect(JSON.stringify(session.watch.events)).not.toContain('an old');
});

test('A replayed tool call does not change a tool call of the turn with the same id.', async () => {
  const [{ client }, session] = await withLost({
    ...reopened('session/resume', replay),
    turns: {
      go(agent) {
        agent.update({
          sessionUpdate: 'tool_call_update',
          toolCallId: touch.toolCallId,
          status: 'completed',
        });
        return endTurn;
      },
    },
  });
  const tools = await itemsOf(client, await session.run('go'));
  expect(tools).toMatchObject([{ kind: 'tool', status: 'completed', text: '' }]);
  expect(JSON.stringify(tools)).not.toContain('an old');
});

const askAtResume = (answers: Message[]): AcpBehavior =>
  reopened('session/resume', async ({ sessionId }, agent) => {
    const toolCall = { ...touch, title: 'an old tool' };
    const params = { sessionId, toolCall, options: usualOptions };
    answers.push(await agent.request('session/request_permission', params));
  });

test.each(someOf([asking, {}], 2))(
  'A permission request while the agent resumes is refused at once (%o).',
  async (more) => {
    const answers: Message[] = [];
    const [{ agents }, session] = await withLost(askAtResume(answers), { open: more });
    expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
    expect(answers.map(({ result }) => result)).toEqual([{ outcome: { outcome: 'cancelled' } }]);
    expect(ofKind(session.watch.events, 'approval.requested')).toEqual([]);
    expect(agents).toHaveLength(2);
  },
);

test('A permission request while the agent resumes creates no events.', () =>
  expectNothingOld(askAtResume([])));

test('Vendor messages and unsupported requests while the agent resumes are refused or ignored.', async () => {
  const answers: Message[] = [];
  const chatter: Handler = async ({ sessionId }, agent) => {
    agent.send({ method: '_raw/status', params: { sessionId, text: 'an old status' } });
    agent.send({ method: 'session/update', params: 'an old update' });
    agent.send({ method: 'session/cancel', params: { sessionId } });
    for (const method of ['_raw/ask', 'fs/read_text_file', 'terminal/create'])
      answers.push(await agent.request(method, { sessionId, path: 'an old path' }));
  };
  await expectNothingOld(reopened('session/resume', chatter));
  expect(answers.map(({ error }) => error?.code)).toEqual([-32_601, -32_601, -32_601]);
});

/** Expects a turn without any text of the history, and no other events. */
async function expectNothingOld(
  behavior: AcpBehavior,
  options: { clock?: Clock } = {},
): Promise<void> {
  const [{ client }, session] = await withLost(behavior, options);
  const before = session.watch.events.length;
  const turn = await session.run('hello');
  expect(turn).toMatchObject({ status: 'completed', text: 'hello', usage: null });
  const events = session.watch.events.slice(before);
  expect(JSON.stringify(events)).not.toContain('an old');
  expect(events.filter(({ turn_id: id }) => id !== turn.turn_id)).toEqual([]);
  expect(await itemsOf(client, turn)).toMatchObject([{ kind: 'message', text: 'hello' }]);
  expect((await session.record()).usage).toBeNull();
}

const modesOf = (currentModeId: string, ...more: string[]) => ({
  modes: { currentModeId, availableModes: [currentModeId, ...more].map((id) => ({ id })) },
});
const offersThen = (
  first: object,
  then: unknown,
  more: Record<string, Handler> = {},
): AcpBehavior => ({
  methods: {
    'session/new': (params, agent) => ({ ...opened(params, agent), ...first }),
    'session/resume': () => then,
    ...more,
  },
});

test('The settings are set again with the option ids of the new agent.', async () => {
  const [{ agents }, session] = await withLost(
    offersThen(
      {
        configOptions: [
          select('mode-1', 'mode', 'build', 'plan'),
          select('model-1', 'model', 'm/one', 'm/two'),
          select('effort-1', 'thought_level', 'low', 'high'),
        ],
      },
      {
        configOptions: [
          select('effort-2', 'thought_level', 'low', 'high'),
          select('model-2', 'model', 'm/zero', 'm/two'),
          select('mode-2', 'mode', 'build', 'plan'),
        ],
      },
    ),
    { open: { permission_mode: 'plan', model: 'm/two', thinking_effort: 'high' } },
  );
  await session.run('after');
  const [first, second] = agents.map((agent) => wanted(agent));
  expect(first).toEqual(['model-1=m/two', 'effort-1=high', 'mode-1=plan', 'prompt']);
  expect(second).toEqual(['model-2=m/two', 'effort-2=high', 'mode-2=plan', 'prompt']);
});

test('The settings are not sent if the new agent already has them.', async () => {
  const [{ agents }, session] = await withLost(
    offersThen(modesOf('default', 'plan'), modesOf('plan', 'default')),
    { open: { permission_mode: 'plan' } },
  );
  await session.run('after');
  expect(agents.map((agent) => wanted(agent))).toEqual([['mode=plan', 'prompt'], ['prompt']]);
});

test('A setting that the new agent does not offer fails the turn with the list of offered values.', async () => {
  const [{ agents }, session] = await withLost(
    offersThen(modesOf('default', 'plan'), modesOf('default', 'ask')),
  );
  const turn = await session.run('after', { permission_mode: 'plan' });
  expect(turn).toMatchObject({
    status: 'failed',
    error: { code: 'invalid_permission_mode' },
  });
  expect(turn.error?.message).toMatch(/"plan".*default, ask/);
  expect(await session.record()).toMatchObject(ready);
  expect((await session.run('after', { permission_mode: 'ask' })).status).toBe('completed');
  expect(wanted(agents[1])).toEqual(['mode=ask', 'prompt']);
});

test('A mode is set again if the agent leaves it right after its answer.', async () => {
  const [{ agents }, session] = await withLost(
    offersThen(modesOf('default', 'plan'), undefined, {
      'session/resume'({ sessionId }, agent) {
        const update = { sessionUpdate: 'current_mode_update', currentModeId: 'plan' };
        agent.send(
          { id: agent.last('session/resume')?.id, result: modesOf('default', 'plan') },
          { method: 'session/update', params: { sessionId, update } },
        );
        return never;
      },
    }),
  );
  await session.run('after');
  expect(wanted(agents[1])).toEqual(['mode=default', 'prompt']);
});

test('A setting of one turn does not affect the next turn, even if the agent stores it.', async () => {
  let mode = 'default';
  const current = () => ({
    modes: { ...modesOf('default', 'full_access').modes, currentModeId: mode },
  });
  const seen: string[] = [];
  const see = () => {
    seen.push(mode);
    return endTurn;
  };
  const harness = on({
    methods: {
      'session/new': (params, agent) => ({ ...opened(params, agent), ...current() }),
      'session/resume': current,
      'session/set_mode': ({ modeId }) => {
        mode = String(modeId);
      },
    },
    turns: { see },
  });
  const session = await harness.open();
  await session.run('see', { permission_mode: 'full_access' });
  await loseAgent(harness);
  await session.run('see');
  expect(seen).toEqual(['full_access', 'default']);
});

test('A session survives if its agent dies while it sets a mode.', async () => {
  const [_harness, session] = await withLost(
    offersThen(modesOf('default', 'plan'), modesOf('default', 'plan'), {
      'session/set_mode': (_params, agent) => {
        agent.exit(1);
        return never;
      },
    }),
  );
  const turn = await session.run('after', { permission_mode: 'plan' });
  expect(turn.error?.message).toContain('exited with code 1');
  expect(await session.record()).toMatchObject(ready);
  await expectWorks(session, 'again');
  expect(turn.error?.code).toMatch(/^provider_/);
});

function wanted(agent: RawAgent | undefined): string[] {
  return (agent?.received ?? []).flatMap(({ method, params }) => {
    if (method === 'session/prompt') return ['prompt'];
    if (method === 'session/set_mode') return [`mode=${String(params?.modeId)}`];
    if (method !== 'session/set_config_option') return [];
    return [`${String(params?.configId)}=${String(params?.value)}`];
  });
}

async function expectFailed(session: RawSession): Promise<void> {
  const failure = { code: 'resume_failed' };
  expect(await session.record()).toMatchObject({ status: 'failed', failure, active_turn_id: null });
  await session.watch.kind('session.failed');
  await expect(session.send('more')).rejects.toMatchObject({ code: 'session_failed' });
}

/** Expects that the second agent fails one turn and exits, and that a third one resumes the session. */
async function expectAnotherAgent(
  { agents, noAgents }: RawAgentHarness,
  session: RawSession,
  says: RegExp,
  { method = 'session/resume', failure = unavailable } = {},
): Promise<void> {
  const turn = await session.run('during');
  expect(turn).toMatchObject(failure);
  expect(turn.error?.message).toMatch(says);
  expect(await session.record()).toMatchObject(ready);
  await noAgents();
  await expectWorks(session);
  expect(agents).toHaveLength(3);
  expect(agents[2]?.last(method)?.params?.sessionId).toBe(refOf(agents));
}
