import { expect, test } from 'vitest';
import { anError, expectError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import { interrupt, until } from '../../support/providers/calls.ts';
import {
  endTurn,
  initialized,
  type RawAgent,
  type RawAgentHarness,
  type AcpBehavior,
  sharedRawAgent,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';
import { refuse } from '../../support/providers/rows.ts';

const on = sharedRawAgent();

/** The options of an agent whose efforts depend on its model, as in codex-acp. */
class Dependent {
  model = 'custom';
  effort = 'medium';
  mode = 'agent';
  readonly efforts: Record<string, string[]> = {
    custom: ['low', 'medium'],
    small: ['low', 'medium'],
    large: ['medium', 'ultra'],
  };

  options(): object[] {
    // A custom model is in the list only while it is the current one.
    const models = this.model === 'custom' ? ['custom', 'small', 'large'] : ['small', 'large'];
    return [
      option('mode', 'mode', this.mode, ['read-only', 'agent']),
      option('model', 'model', this.model, models),
      option('reasoning_effort', 'thought_level', this.effort, this.efforts[this.model] ?? []),
    ];
  }

  set({ configId, value }: Record<string, unknown>): object {
    const requested = String(value);
    if (configId === 'mode') this.mode = requested;
    else if (configId === 'model') {
      if (requested === 'custom') return refuse(-32_602, 'Invalid params');
      this.model = requested;
      if (!this.efforts[requested]?.includes(this.effort))
        this.effort = this.efforts[requested]?.[0] ?? '';
    } else {
      if (!this.efforts[this.model]?.includes(requested)) return refuse(-32_602, 'Invalid params');
      this.effort = requested;
    }
    return { configOptions: this.options() };
  }

  behavior(turns: AcpBehavior['turns'] = {}): AcpBehavior {
    return {
      methods: {
        'session/new': (_params, agent) => ({
          sessionId: `raw-${agent.pid}`,
          configOptions: this.options(),
        }),
        'session/set_config_option': (params) => this.set(params),
      },
      turns,
    };
  }
}

function option(id: string, category: string | null, now: string, values: string[]): object {
  const options = values.map((value) => ({ value, name: value.toUpperCase() }));
  return { id, name: id, category, type: 'select', currentValue: now, options };
}

/** Returns the options that cadre has set, and the prompts, in order. */
function wanted(agent: RawAgent | undefined): string[] {
  return (agent?.received ?? []).flatMap(({ method, params }) => {
    if (method === 'session/prompt') return ['prompt'];
    if (method === 'session/set_config_option')
      return [`${String(params?.configId)}=${String(params?.value)}`];
    if (method === 'session/set_model') return [`set_model ${String(params?.modelId)}`];
    return method === 'session/set_mode' ? [`set_mode ${String(params?.modeId)}`] : [];
  });
}

function models({ client }: RawAgentHarness) {
  const params = { provider: 'acp' as const };
  return client.call(endpoints.listModels, { params, query: {} });
}

test('A turn can choose a model together with an effort that only this model has.', async () => {
  const { open, agents } = on(new Dependent().behavior());
  const session = await open({ model: 'large', thinking_effort: 'ultra' });
  expect((await session.run('one')).status).toBe('completed');
  expect((await session.run('two')).status).toBe('completed');
  expect(wanted(agents[0])).toEqual(['model=large', 'reasoning_effort=ultra', 'prompt', 'prompt']);
});

test('A turn with an effort that the chosen model lacks fails with the list of efforts.', async () => {
  const { firstTurn } = on(new Dependent().behavior());
  const { session } = await firstTurn('one');
  const requested = { model: 'large', thinking_effort: 'low' };
  const turn = await session.run('two', requested);
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_thinking_effort' } });
  expect(turn.error?.message).toMatch(/"low".*medium, ultra/);
  expect((await session.run('three')).status).toBe('completed');
});

test('The next turn restores the model and the effort of the session.', async () => {
  const { firstTurn, agents } = on(new Dependent().behavior());
  const { session } = await firstTurn('one', { model: 'small', thinking_effort: 'low' });
  await session.run('two', { model: 'large', thinking_effort: 'medium' });
  await session.run('three');
  expect(wanted(agents[0])).toEqual([
    'model=small',
    'reasoning_effort=low',
    'prompt',
    'model=large',
    'prompt',
    'model=small',
    'reasoning_effort=low',
    'prompt',
  ]);
});

test.each(['in a turn', 'between turns'])('An update of the options %s is read.', async (when) => {
  const more = (agent: RawAgent) =>
    agent.update({
      sessionUpdate: 'config_option_update',
      configOptions: [option('model', 'model', 'one', ['one', 'two', 'three'])],
    });
  const harness = on({
    methods: {
      'session/new': (_params, { pid }) => ({
        sessionId: `raw-${pid}`,
        configOptions: [option('model', 'model', 'one', ['one', 'two'])],
      }),
    },
    turns: {
      go(agent) {
        if (when === 'in a turn') more(agent);
        return endTurn;
      },
    },
  });
  const { session } = await harness.firstTurn('go');
  const [agent] = harness.agents;
  if (when === 'between turns' && agent) more(agent);
  await until('the update was read', async () => (await models(harness)).length === 3);
  expect((await session.run('on', { model: 'three' })).status).toBe('completed');
  expect(wanted(agent)).toEqual(['prompt', 'model=three', 'prompt']);
});

test('An update of another session, such as a subagent, does not change the options.', async () => {
  const { firstTurn } = on(
    new Dependent().behavior({
      go(agent) {
        const configOptions = [option('model', 'model', 'none', ['none'])];
        const update = { sessionUpdate: 'config_option_update', configOptions };
        agent.send({ method: 'session/update', params: { sessionId: 'other', update } });
        return endTurn;
      },
    }),
  );
  const { session } = await firstTurn('go');
  expect((await session.run('on', { model: 'large' })).status).toBe('completed');
});

test('A model that the agent changes by itself stays for later turns.', async () => {
  const { firstTurn, agents } = on(
    new Dependent().behavior({
      '/model small'(agent) {
        const configOptions = [option('model', 'model', 'small', ['small', 'large'])];
        agent.update({ sessionUpdate: 'config_option_update', configOptions });
        return endTurn;
      },
    }),
  );
  const { session } = await firstTurn('/model small');
  await session.run('on');
  expect(wanted(agents[0])).toEqual(['prompt', 'prompt']);
  expect((await session.record()).provider_defaults?.model).toBe('small');
});

test('A session continues with a notice if the agent cannot return to its custom model.', async () => {
  const { open, agents } = on(new Dependent().behavior());
  const session = await open();
  await session.run('one', { model: 'large' });
  expect((await session.run('two')).status).toBe('completed');
  expect((await session.run('three')).status).toBe('completed');
  expect(wanted(agents[0])).toEqual(['model=large', 'prompt', 'model=custom', 'prompt', 'prompt']);
  const notices = session.watch.events.filter(({ kind }) => kind === 'session.notice');
  expect(notices.map(({ payload }) => payload)).toMatchObject([anError('choice_kept', '"custom"')]);
});

test('A custom model that the agent refuses fails only its own turn, with the list of models.', async () => {
  const { open } = on(new Dependent().behavior());
  const session = await open();
  await session.run('one', { model: 'large' });
  const turn = await session.run('two', { model: 'custom' });
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_model' } });
  expect(turn.error?.message).toMatch(/Invalid params.*small, large/);
  expect((await session.run('three', { model: 'small' })).status).toBe('completed');
});

const modes = {
  currentModeId: 'default',
  availableModes: ['default', 'yolo', 'plan'].map((id) => ({ id, name: id })),
};
const oneWay: AcpBehavior = {
  methods: {
    'session/new': (_params, { pid }) => ({ sessionId: `raw-${pid}`, modes }),
    'session/set_mode': ({ modeId }) => (modeId === 'default' ? refuse(-32_602, 'not back') : {}),
  },
  turns: {
    leave(agent) {
      agent.update({ sessionUpdate: 'current_mode_update', currentModeId: 'plan' });
      return endTurn;
    },
  },
};

test('A turn fails if the agent cannot leave the mode that the previous turn chose.', async () => {
  const { open } = on(oneWay);
  const session = await open();
  await session.run('one', { agent_mode: 'yolo' });
  const turn = await session.run('two');
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_permission_mode' } });
  expect(turn.error?.message).toMatch(/not back.*default, yolo, plan/);
  expect((await session.run('three', { agent_mode: 'plan' })).status).toBe('completed');
});

test('A turn runs with a notice if the agent cannot leave a mode that it entered by itself.', async () => {
  const { firstTurn } = on(oneWay);
  const { session } = await firstTurn('leave');
  expect((await session.run('two')).status).toBe('completed');
  const notices = session.watch.events.filter(({ kind }) => kind === 'session.notice');
  const codes = notices.map(({ payload }) => payload.code);
  expect(codes.filter((code) => code !== 'turn_without_items')).toEqual(['choice_kept']);
});

const older = {
  currentModelId: 'unlisted',
  availableModels: ['auto', 'pro'].map((modelId) => ({ modelId, name: modelId })),
};
const behavior: AcpBehavior = {
  methods: {
    'session/new': (_params, { pid }) => ({ sessionId: `raw-${pid}`, models: older }),
    'session/set_model': ({ modelId }) =>
      modelId === 'nonsense' ? refuse(-32_603, 'no such model') : {},
  },
};

test('A model is chosen with session/set_model and restored after the turn.', async () => {
  const { open, agents } = on(behavior);
  const session = await open();
  await session.run('one', { model: 'pro' });
  await session.run('two');
  expect(wanted(agents[0])).toEqual(['set_model pro', 'prompt', 'set_model unlisted', 'prompt']);
});

test('A model that the agent does not list is sent to the agent, which may accept it.', async () => {
  const { open, agents } = on(behavior);
  const session = await open();
  expect((await session.run('one', { model: 'custom' })).status).toBe('completed');
  const turn = await session.run('two', { model: 'nonsense' });
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_model' } });
  expect(turn.error?.message).toMatch(/no such model.*auto, pro/);
  expect((await session.run('three', { model: 'auto' })).status).toBe('completed');
  expect(wanted(agents[0])).toContain('set_model custom');
});

test('The list of models is available before the first prompt.', async () => {
  const harness = await testRawAgent(behavior);
  expect(await models(harness)).toEqual([
    { id: 'auto', display_name: 'auto', reasoning_levels: [] },
    { id: 'pro', display_name: 'pro', reasoning_levels: [] },
  ]);
  await harness.noAgents();
  expect(wanted(harness.agents[0])).toEqual([]);
});

const asked = async (configOptions: object[], more: object, requested: object) => {
  const behavior: AcpBehavior = {
    methods: {
      'session/new': (_params, { pid }) => ({ sessionId: `raw-${pid}`, configOptions, ...more }),
      'session/set_config_option': () => ({ configOptions }),
    },
  };
  const { open, agents } = on(behavior);
  const turn = await (await open()).run('hello', requested);
  return [turn.error?.message ?? turn.status, ...wanted(agents[0])];
};

test('Options take precedence over modes and models, the older forms of the same choices.', async () => {
  const configOptions = [
    option('mode', 'mode', 'build', ['build', 'plan']),
    option('model', 'model', 'one', ['one', 'two']),
  ];
  const more = {
    modes: { currentModeId: 'x', availableModes: [{ id: 'x' }, { id: 'plan' }] },
    models: { currentModelId: 'one[low]', availableModels: [{ modelId: 'two[low]' }] },
  };
  const heard = await asked(configOptions, more, { model: 'two', permission_mode: 'plan' });
  expect(heard).toEqual(['completed', 'model=two', 'mode=plan', 'prompt']);
});

test('Options in groups are all available.', async () => {
  const groups = {
    ...option('model', 'model', 'one', []),
    options: [
      { group: 'a', name: 'A', options: [{ value: 'one', name: 'One' }] },
      { group: 'b', name: 'B', options: [{ value: 'two', name: 'Two' }] },
    ],
  };
  expect(await asked([groups], {}, { model: 'two' })).toContain('model=two');
  expect((await asked([groups], {}, { model: 'three' }))[0]).toContain('choose from one, two');
});

test.each<[string, string, string | null, string]>([
  ['the model, not its provider', 'provider', 'model', 'model'],
  ['the option whose id contains the category', 'maker', 'model', 'the-model'],
  ['the option with a matching id, without a category', 'speed', null, 'model'],
])(
  'The model is set with the right one of several options: %s.',
  async (_what, other, category, id) => {
    const configOptions = [other, id].map((one) => option(one, category, 'm', ['m', 'n']));
    expect(await asked(configOptions, {}, { model: 'n' })).toEqual([
      'completed',
      `${id}=n`,
      'prompt',
    ]);
  },
);

test('A boolean option is set with a boolean value.', async () => {
  const thinking = { id: 'thinking', category: 'thought_level', type: 'boolean' };
  const behavior: AcpBehavior = {
    methods: {
      'session/new': (_params, { pid }) => ({
        sessionId: `raw-${pid}`,
        configOptions: [{ ...thinking, currentValue: false }],
      }),
      'session/set_config_option': ({ value }) => ({
        configOptions: [{ ...thinking, currentValue: value }],
      }),
    },
  };
  const { open, agents } = on(behavior);
  await (await open({ thinking_effort: 'on' })).run('hello');
  const [agent] = agents;
  expect(agent?.last('session/set_config_option')?.params).toMatchObject({
    configId: 'thinking',
    type: 'boolean',
    value: true,
  });
  const { clientCapabilities } = agent?.last('initialize')?.params ?? {};
  expect(clientCapabilities).toMatchObject({ session: { configOptions: { boolean: {} } } });
});

const some = () => ({
  sessionUpdate: 'config_option_update',
  configOptions: [
    option('mode', 'mode', 'ask', ['ask', 'yolo']),
    option('model', 'model', 'one', ['one', 'two']),
  ],
});
const opensLate = (sendOptions: (agent: RawAgent) => void): AcpBehavior => ({
  methods: {
    'session/new': (_params, agent) => {
      setImmediate(() => sendOptions(agent));
      return { sessionId: `raw-${agent.pid}` };
    },
    'session/set_config_option': () => ({}),
  },
});

test.each([
  ['a model', { model: 'two' }, 'model=two'],
  ["a mode of the agent's own", { agent_mode: 'yolo' }, 'mode=yolo'],
  ['full_access', { permission_mode: 'full_access' }, 'mode=yolo'],
  ['require_approval', { permission_mode: 'require_approval' }, null],
])('The first turn waits for deferred options: %s.', async (_what, requested, set) => {
  const modes = { full_access: 'yolo', require_approval: 'ask' };
  const { open, agents } = await testRawAgent(
    opensLate((agent) => agent.update(some())),
    { acp: { agents: { default: { modes } } } },
  );
  const session = await open(requested);
  expect((await session.run('one')).status).toBe('completed');
  expect(wanted(agents[0])).toEqual([...(set === null ? [] : [set]), 'prompt']);
  await session.run('two');
  expect(wanted(agents[0]).slice(-1)).toEqual(['prompt']);
});

test('A turn fails before its prompt if deferred options never arrive, and so does the next session.', async () => {
  const { firstTurn, agents } = await testRawAgent({});
  expect((await firstTurn('one', { model: 'two' })).turn.error?.code).toBe('invalid_model');
  expect((await firstTurn('one', { model: 'two' })).turn.error?.message).toContain(
    'send a first prompt without this setting',
  );
  expect(agents.flatMap(wanted)).toEqual([]);
});

test('A turn that sets a model waits for the efforts of this model.', async () => {
  const { firstTurn, agents } = await testRawAgent({
    methods: {
      'session/new': (_params, { pid }) => ({
        sessionId: `raw-${pid}`,
        configOptions: [option('model', 'model', 'one', ['one', 'two'])],
      }),
      'session/set_config_option': ({ configId }, agent) => {
        const model = option('model', 'model', 'two', ['one', 'two']);
        const effort = option('effort', 'thought_level', 'low', ['low', 'high']);
        const configOptions = [model, effort];
        if (configId === 'model')
          setImmediate(() =>
            agent.update({ sessionUpdate: 'config_option_update', configOptions }),
          );
        return {};
      },
    },
  });
  expect((await firstTurn('one', { model: 'two', thinking_effort: 'high' })).turn.status).toBe(
    'completed',
  );
  expect(wanted(agents[0])).toEqual(['model=two', 'effort=high', 'prompt']);
});

test('An interrupt ends the wait for deferred options.', async () => {
  const { client, open, agents } = await testRawAgent({});
  const session = await open({ model: 'two' });
  const turn = await session.send('one');
  await until('it is open', () => agents[0]?.last('session/new') !== undefined);
  await interrupt(client, session, turn);
  expect((await session.watch.end(turn)).kind).toBe('turn.interrupted');
});

const slow: AcpBehavior = {
  methods: { 'session/set_config_option': () => ({}) },
  turns: {
    go(agent) {
      agent.update(some());
      return endTurn;
    },
    async work(agent) {
      agent.update(some());
      await agent.untilReceived('session/set_config_option');
      agent.say('working');
      return endTurn;
    },
    silent: () => endTurn,
  },
};

test('A deferred option is set as soon as the agent offers it, and the session gets a notice.', async () => {
  const { open, agents } = await testRawAgent(slow, {
    acp: { agents: { default: { modes: { full_access: 'yolo' } } } },
  });
  expect((await (await open({ model: 'two' })).run('go')).status).toBe('failed');
  expect((await (await open()).run('go')).status).toBe('completed');
  const session = await open({ model: 'two', permission_mode: 'bypass' });
  const strict = await open({ permission_mode: 'read_only' });
  const turn = await session.run('work');
  expect(turn.error).toBeNull();
  expect(turn).toMatchObject({ status: 'completed', text: 'working' });
  expect(wanted(agents[2]).slice(0, 2)).toEqual(['prompt', 'model=two']);
  const notice = session.watch.events.find(({ kind }) => kind === 'session.notice');
  expect(notice?.payload).toMatchObject(anError('choice_late', 'model "two"'));
  expect((await strict.run('go')).error?.code).toBe('invalid_permission_mode');
});

test('A turn fails if the agent starts to work before it offers the chosen option.', async () => {
  const { open } = await testRawAgent(slow);
  await (await open()).run('go');
  const turn = await (await open({ model: 'two' })).run('say this');
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_model' } });
});

test('A turn fails if the agent ends it before it offers the chosen option.', async () => {
  const { open } = await testRawAgent(slow);
  await (await open()).run('go');
  const turn = await (await open({ model: 'two' })).run('silent');
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_model' } });
});

test('The list has the last models of the agent, each with the efforts that were seen with it.', async () => {
  const choices = new Dependent();
  const harness = await testRawAgent(choices.behavior());
  const { session } = await harness.firstTurn('hello', { model: 'large' });
  const found = await models(harness);
  expect(found.map(({ id, reasoning_levels }) => [id, ...reasoning_levels])).toEqual([
    ['small', 'medium', 'ultra'],
    ['large', 'medium', 'ultra'],
  ]);
  await session.run('hello', { model: 'small' });
  const later = await models(harness);
  expect(later.map(({ id, reasoning_levels }) => [id, ...reasoning_levels])).toEqual([
    ['small', 'low', 'medium'],
    ['large', 'medium', 'ultra'],
  ]);
});

test('A request for the list starts an agent if none was seen, and deletes the session that it opened.', async () => {
  const behavior = new Dependent().behavior();
  const capable = initialized({
    agentCapabilities: { sessionCapabilities: { delete: {} } },
  });
  behavior.methods = {
    ...behavior.methods,
    initialize: () => capable,
    'session/delete': () => ({}),
  };
  const harness = await testRawAgent(behavior);
  const [one, two] = await Promise.all([models(harness), models(harness)]);
  expect(one.map(({ id }) => id)).toEqual(['custom', 'small', 'large']);
  expect(two).toEqual(one);
  await harness.noAgents();
  expect(harness.agents).toHaveLength(1);
  const [agent] = harness.agents;
  const sessionId = `raw-${agent?.pid}`;
  expect(agent?.last('session/delete')?.params).toEqual({ sessionId });
  await models(harness);
  expect(harness.agents).toHaveLength(1);
});

test('A request for the list fails with the reason if the agent cannot open a session.', async () => {
  const harness = await testRawAgent({
    methods: { 'session/new': () => refuse(-32_603, 'out of order') },
  });
  await expectError(models(harness), 'provider_unavailable', 'out of order');
});
