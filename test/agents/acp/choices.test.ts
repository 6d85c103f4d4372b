import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { interrupt, until } from '../../support/providers/calls.ts';
import {
  endTurn,
  initialized,
  type RawAgent,
  type RawStage,
  type Role,
  sharedRawAgent,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';
import { refuse } from '../../support/providers/rows.ts';

const on = sharedRawAgent();

/** The choices of a played agent whose efforts depend on its model, as those of codex-acp do. */
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
    // A model from the configuration is in the list only while it is the current one.
    const models = this.model === 'custom' ? ['custom', 'small', 'large'] : ['small', 'large'];
    return [
      option('mode', 'mode', this.mode, ['read-only', 'agent']),
      option('model', 'model', this.model, models),
      option('reasoning_effort', 'thought_level', this.effort, this.efforts[this.model] ?? []),
    ];
  }

  set({ configId, value }: Record<string, unknown>): object {
    const wish = String(value);
    if (configId === 'mode') this.mode = wish;
    else if (configId === 'model') {
      if (wish === 'custom') return refuse(-32_602, 'Invalid params');
      this.model = wish;
      if (!this.efforts[wish]?.includes(this.effort)) this.effort = this.efforts[wish]?.[0] ?? '';
    } else {
      if (!this.efforts[this.model]?.includes(wish)) return refuse(-32_602, 'Invalid params');
      this.effort = wish;
    }
    return { configOptions: this.options() };
  }

  role(turns: Role['turns'] = {}): Role {
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

/** What cadre has set, and the prompts, in order. */
function wanted(agent: RawAgent | undefined): string[] {
  return (agent?.heard ?? []).flatMap(({ method, params }) => {
    if (method === 'session/prompt') return ['prompt'];
    if (method === 'session/set_config_option')
      return [`${String(params?.configId)}=${String(params?.value)}`];
    if (method === 'session/set_model') return [`set_model ${String(params?.modelId)}`];
    return method === 'session/set_mode' ? [`set_mode ${String(params?.modeId)}`] : [];
  });
}

function models({ client }: RawStage) {
  const params = { provider: 'acp' as const };
  return client.call(endpoints.listModels, { params, query: {} });
}

describe('the answer to a choice, which is the whole list of options,', () => {
  test('is read: a model and an effort that only this model has can be had together', async () => {
    const { open, agents } = on(new Dependent().role());
    const session = await open({ model: 'large', thinking_effort: 'ultra' });
    expect((await session.run('one')).status).toBe('completed');
    expect((await session.run('two')).status).toBe('completed');
    expect(wanted(agents[0])).toEqual([
      'model=large',
      'reasoning_effort=ultra',
      'prompt',
      'prompt',
    ]);
  });

  test('judges the effort: one that the chosen model does not have fails that turn, with the list', async () => {
    const { open } = on(new Dependent().role());
    const session = await open();
    await session.run('one');
    const wish = { model: 'large', thinking_effort: 'low' };
    const turn = await session.run('two', wish);
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_thinking_effort' } });
    expect(turn.error?.message).toMatch(/"low".*medium, ultra/);
    expect((await session.run('three')).status).toBe('completed');
  });

  test('says what the agent has made of other choices, which the next turn sets back', async () => {
    const { open, agents } = on(new Dependent().role());
    const session = await open({ model: 'small', thinking_effort: 'low' });
    await session.run('one');
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
});

describe('an update of the options', () => {
  test.each(['in a turn', 'between turns'])('that comes %s is read', async (when) => {
    const more = (agent: RawAgent) =>
      agent.update({
        sessionUpdate: 'config_option_update',
        configOptions: [option('model', 'model', 'one', ['one', 'two', 'three'])],
      });
    const stage = on({
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
    const session = await stage.open();
    await session.run('go');
    const [agent] = stage.agents;
    if (when === 'between turns' && agent) more(agent);
    await until('the update was read', async () => (await models(stage)).length === 3);
    expect((await session.run('on', { model: 'three' })).status).toBe('completed');
    expect(wanted(agent)).toEqual(['prompt', 'model=three', 'prompt']);
  });

  test('of another session, such as that of a subagent, changes nothing', async () => {
    const { open } = on(
      new Dependent().role({
        go(agent) {
          const configOptions = [option('model', 'model', 'none', ['none'])];
          const update = { sessionUpdate: 'config_option_update', configOptions };
          agent.send({ method: 'session/update', params: { sessionId: 'other', update } });
          return endTurn;
        },
      }),
    );
    const session = await open();
    await session.run('go');
    expect((await session.run('on', { model: 'large' })).status).toBe('completed');
  });

  test('by which the agent changes its model itself holds for the turns after it', async () => {
    const { open, agents } = on(
      new Dependent().role({
        '/model small'(agent) {
          const configOptions = [option('model', 'model', 'small', ['small', 'large'])];
          agent.update({ sessionUpdate: 'config_option_update', configOptions });
          return endTurn;
        },
      }),
    );
    const session = await open();
    await session.run('/model small');
    await session.run('on');
    expect(wanted(agents[0])).toEqual(['prompt', 'prompt']);
    expect((await session.record()).provider_defaults?.model).toBe('small');
  });
});

describe('a custom model, which the agent does not list,', () => {
  test('does not brick the session: an agent that cannot go back to it goes on, and says so', async () => {
    const { open, agents } = on(new Dependent().role());
    const session = await open();
    await session.run('one', { model: 'large' });
    expect((await session.run('two')).status).toBe('completed');
    expect((await session.run('three')).status).toBe('completed');
    expect(wanted(agents[0])).toEqual([
      'model=large',
      'prompt',
      'model=custom',
      'prompt',
      'prompt',
    ]);
    const notices = session.watch.events.filter(({ kind }) => kind === 'session.notice');
    expect(notices.map(({ payload }) => payload)).toMatchObject([
      { code: 'choice_kept', message: expect.stringContaining('"custom"') as string },
    ]);
  });

  test('fails only the turn that wants it, with the list, where the agent refuses it', async () => {
    const { open } = on(new Dependent().role());
    const session = await open();
    await session.run('one', { model: 'large' });
    const turn = await session.run('two', { model: 'custom' });
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_model' } });
    expect(turn.error?.message).toMatch(/Invalid params.*small, large/);
    expect((await session.run('three', { model: 'small' })).status).toBe('completed');
  });
});

describe('a mode', () => {
  const modes = {
    currentModeId: 'default',
    availableModes: ['default', 'yolo', 'plan'].map((id) => ({ id, name: id })),
  };
  const oneWay: Role = {
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

  test('that one turn wanted fails the next one, which did not, where the agent stays in it', async () => {
    const { open } = on(oneWay);
    const session = await open();
    await session.run('one', { agent_mode: 'yolo' });
    const turn = await session.run('two');
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_permission_mode' } });
    expect(turn.error?.message).toMatch(/not back.*default, yolo, plan/);
    expect((await session.run('three', { agent_mode: 'plan' })).status).toBe('completed');
  });

  test('that the agent chose itself, and does not leave, holds up no turn', async () => {
    const { open } = on(oneWay);
    const session = await open();
    await session.run('leave');
    expect((await session.run('two')).status).toBe('completed');
    const notices = session.watch.events.filter(({ kind }) => kind === 'session.notice');
    const codes = notices.map(({ payload }) => payload.code);
    expect(codes.filter((code) => code !== 'turn_without_items')).toEqual(['choice_kept']);
  });
});

describe('models in the form that the protocol had before', () => {
  const older = {
    currentModelId: 'unlisted',
    availableModels: ['auto', 'pro'].map((modelId) => ({ modelId, name: modelId })),
  };
  const role: Role = {
    methods: {
      'session/new': (_params, { pid }) => ({ sessionId: `raw-${pid}`, models: older }),
      'session/set_model': ({ modelId }) =>
        modelId === 'nonsense' ? refuse(-32_603, 'no such model') : {},
    },
  };

  test('are chosen by session/set_model, and set back', async () => {
    const { open, agents } = on(role);
    const session = await open();
    await session.run('one', { model: 'pro' });
    await session.run('two');
    expect(wanted(agents[0])).toEqual(['set_model pro', 'prompt', 'set_model unlisted', 'prompt']);
  });

  test('are tried where they are not listed: the agent may know more than it lists', async () => {
    const { open, agents } = on(role);
    const session = await open();
    expect((await session.run('one', { model: 'custom' })).status).toBe('completed');
    const turn = await session.run('two', { model: 'nonsense' });
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_model' } });
    expect(turn.error?.message).toMatch(/no such model.*auto, pro/);
    expect((await session.run('three', { model: 'auto' })).status).toBe('completed');
    expect(wanted(agents[0])).toContain('set_model custom');
  });

  test('are shown in the list of models before anybody has sent one', async () => {
    const stage = await testRawAgent(role);
    expect(await models(stage)).toEqual([
      { id: 'auto', display_name: 'auto', reasoning_levels: [] },
      { id: 'pro', display_name: 'pro', reasoning_levels: [] },
    ]);
    await stage.noAgents();
    expect(wanted(stage.agents[0])).toEqual([]);
  });
});

describe('the options of an agent', () => {
  const asked = async (configOptions: object[], more: object, wish: object) => {
    const role: Role = {
      methods: {
        'session/new': (_params, { pid }) => ({ sessionId: `raw-${pid}`, configOptions, ...more }),
        'session/set_config_option': () => ({ configOptions }),
      },
    };
    const { open, agents } = on(role);
    const turn = await (await open()).run('hello', wish);
    return [turn.error?.message ?? turn.status, ...wanted(agents[0])];
  };

  test('win over modes and models, which are the older forms of the same choices', async () => {
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

  test('in groups are all there', async () => {
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
    ['the id that contains the category', 'maker', 'model', 'the-model'],
    ['the id alone, without a category', 'speed', null, 'model'],
  ])('of several of a kind are read: %s is taken', async (_what, other, category, id) => {
    const configOptions = [other, id].map((one) => option(one, category, 'm', ['m', 'n']));
    expect(await asked(configOptions, {}, { model: 'n' })).toEqual([
      'completed',
      `${id}=n`,
      'prompt',
    ]);
  });

  test('that are on or off are set as such', async () => {
    const thinking = { id: 'thinking', category: 'thought_level', type: 'boolean' };
    const role: Role = {
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
    const { open, agents } = on(role);
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
});

describe('choices that an agent offers only after it has opened the session', () => {
  const some = () => ({
    sessionUpdate: 'config_option_update',
    configOptions: [
      option('mode', 'mode', 'ask', ['ask', 'yolo']),
      option('model', 'model', 'one', ['one', 'two']),
    ],
  });
  const opensLate = (tell: (agent: RawAgent) => void): Role => ({
    methods: {
      'session/new': (_params, agent) => {
        setImmediate(() => tell(agent));
        return { sessionId: `raw-${agent.pid}` };
      },
      'session/set_config_option': () => ({}),
    },
  });

  test.each([
    ['a model', { model: 'two' }, 'model=two'],
    ["a mode of the agent's own", { agent_mode: 'yolo' }, 'mode=yolo'],
    ['full_access', { permission_mode: 'full_access' }, 'mode=yolo'],
    ['the mode in which it asks', { permission_mode: 'require_approval' }, null],
  ])('are waited for by the first turn: %s', async (_what, wish, set) => {
    const modes = { full_access: 'yolo', require_approval: 'ask' };
    const { open, agents } = await testRawAgent(
      opensLate((agent) => agent.update(some())),
      { acp: { agents: { default: { modes } } } },
    );
    const session = await open(wish);
    expect((await session.run('one')).status).toBe('completed');
    expect(wanted(agents[0])).toEqual([...(set === null ? [] : [set]), 'prompt']);
    await session.run('two');
    expect(wanted(agents[0]).slice(-1)).toEqual(['prompt']);
  });

  test('are not waited for twice where they do not come: the turn fails, and no agent sees it', async () => {
    const { open, agents } = await testRawAgent({});
    const session = await open({ model: 'two' });
    expect((await session.run('one')).error?.code).toBe('invalid_model');
    const other = await open({ model: 'two' });
    expect((await other.run('one')).error?.message).toContain(
      'send a first prompt without this setting',
    );
    expect(agents.flatMap(wanted)).toEqual([]);
  });

  test('are waited for after a model was set, whose efforts come later', async () => {
    const { open, agents } = await testRawAgent({
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
    const session = await open({ model: 'two', thinking_effort: 'high' });
    expect((await session.run('one')).status).toBe('completed');
    expect(wanted(agents[0])).toEqual(['model=two', 'effort=high', 'prompt']);
  });

  test('are waited for no longer than until the turn is interrupted', async () => {
    const { client, open, agents } = await testRawAgent({});
    const session = await open({ model: 'two' });
    const turn = await session.send('one');
    await until('it is open', () => agents[0]?.last('session/new') !== undefined);
    await interrupt(client, session, turn);
    expect((await session.watch.end(turn)).kind).toBe('turn.interrupted');
  });

  describe('and after its first prompt', () => {
    const slow: Role = {
      methods: { 'session/set_config_option': () => ({}) },
      turns: {
        go(agent) {
          agent.update(some());
          return endTurn;
        },
        async work(agent) {
          agent.update(some());
          await agent.hears('session/set_config_option');
          agent.say('working');
          return endTurn;
        },
        silent: () => endTurn,
      },
    };

    test('are set as soon as they are offered, which the session is told', async () => {
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
      expect(notice?.payload).toMatchObject({
        code: 'choice_late',
        message: expect.stringContaining('model "two"') as string,
      });
      expect((await strict.run('go')).error?.code).toBe('invalid_permission_mode');
    });

    test('fail the turn where the agent begins to work without them', async () => {
      const { open } = await testRawAgent(slow);
      await (await open()).run('go');
      const turn = await (await open({ model: 'two' })).run('say this');
      expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_model' } });
    });

    test('fail the turn where the agent ends it without them', async () => {
      const { open } = await testRawAgent(slow);
      await (await open()).run('go');
      const turn = await (await open({ model: 'two' })).run('silent');
      expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_model' } });
    });
  });
});

describe('the list of models', () => {
  test('has those that the agent offered last, each with the efforts that were seen with it', async () => {
    const choices = new Dependent();
    const stage = await testRawAgent(choices.role());
    const session = await stage.open({ model: 'large' });
    await session.run('hello');
    const found = await models(stage);
    expect(found.map(({ id, reasoning_levels }) => [id, ...reasoning_levels])).toEqual([
      ['small', 'medium', 'ultra'],
      ['large', 'medium', 'ultra'],
    ]);
    await session.run('hello', { model: 'small' });
    const later = await models(stage);
    expect(later.map(({ id, reasoning_levels }) => [id, ...reasoning_levels])).toEqual([
      ['small', 'low', 'medium'],
      ['large', 'medium', 'ultra'],
    ]);
  });

  test('starts an agent where none was seen, and has it delete the session that this opens', async () => {
    const role = new Dependent().role();
    const capable = initialized({
      agentCapabilities: { sessionCapabilities: { delete: {} } },
    });
    role.methods = { ...role.methods, initialize: () => capable, 'session/delete': () => ({}) };
    const stage = await testRawAgent(role);
    const [one, two] = await Promise.all([models(stage), models(stage)]);
    expect(one.map(({ id }) => id)).toEqual(['custom', 'small', 'large']);
    expect(two).toEqual(one);
    await stage.noAgents();
    expect(stage.agents).toHaveLength(1);
    const [agent] = stage.agents;
    const sessionId = `raw-${agent?.pid}`;
    expect(agent?.last('session/delete')?.params).toEqual({ sessionId });
    await models(stage);
    expect(stage.agents).toHaveLength(1);
  });

  test('says why there is none where the agent opens no session', async () => {
    const stage = await testRawAgent({
      methods: { 'session/new': () => refuse(-32_603, 'out of order') },
    });
    await expect(models(stage)).rejects.toMatchObject({
      code: 'provider_unavailable',
      message: expect.stringContaining('out of order') as string,
    });
  });
});
