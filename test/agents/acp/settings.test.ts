import { expect, test } from 'vitest';
import { anError } from '../../support/an-error.ts';
import { interrupt, until } from '../../support/providers/calls.ts';
import {
  endTurn,
  never,
  type RawAgent,
  type AcpBehavior,
  sharedRawAgent,
} from '../../support/providers/raw-agent.ts';
import { asking, refuse } from '../../support/providers/rows.ts';

const on = sharedRawAgent();

const modes = {
  currentModeId: 'default',
  availableModes: ['default', 'read_only', 'full_access'].map((id) => ({ id, name: id })),
};
const withModes: AcpBehavior['methods'] = {
  'session/new': (_params, agent) => ({ sessionId: `raw-${agent.pid}`, modes }),
  'session/resume': () => ({ modes }),
};
const wanted = (agent: RawAgent | undefined) =>
  (agent?.received ?? []).flatMap(({ method, params }) => {
    if (method === 'session/prompt') return ['prompt'];
    return method === 'session/set_mode' ? [params?.modeId] : [];
  });

test('A mode of the session is set before the first prompt, and a mode of a turn only for that turn.', async () => {
  const { firstTurn, agents } = on({ methods: withModes });
  const { session } = await firstTurn('one', { permission_mode: 'read_only' });
  await session.run('two');
  await session.run('three', { permission_mode: 'full_access' });
  await session.run('four');
  await session.run('five', asking);
  expect(wanted(agents[0]).join(' ')).toBe(
    'read_only prompt prompt full_access prompt read_only prompt default prompt',
  );
});

test('A mode can be named by either of its two names, whichever the agent knows.', async () => {
  const { open, agents } = on({ methods: withModes });
  const session = await open();
  expect((await session.run('one', { permission_mode: 'bypass' })).status).toBe('completed');
  expect(wanted(agents[0])).toEqual(['full_access', 'prompt']);
  const refused = session.send('two', { permission_mode: 'accept_edits' });
  await expect(refused).rejects.toMatchObject({ code: 'invalid' });
});

test('A mode that the agent leaves by itself is set again for the next turn.', async () => {
  const { firstTurn, agents } = on({
    methods: withModes,
    turns: {
      go(agent) {
        agent.update({ sessionUpdate: 'current_mode_update', currentModeId: 'full_access' });
        return endTurn;
      },
    },
  });
  const { session } = await firstTurn('go', { permission_mode: 'read_only' });
  await session.run('on');
  expect(wanted(agents[0])).toEqual(['read_only', 'prompt', 'read_only', 'prompt']);
});

test('A message about a mode change is not part of the text of the turn.', async () => {
  const { firstTurn } = on({
    methods: {
      ...withModes,
      'session/set_mode': ({ modeId }, agent) => agent.say(`[MODE_UPDATE] ${String(modeId)}`),
    },
  });
  expect((await firstTurn('hello', { permission_mode: 'read_only' })).turn).toMatchObject({
    status: 'completed',
    text: 'hello',
  });
});

test('A mode that the agent refuses fails the turn before its prompt.', async () => {
  const { open, agents } = on({
    methods: { ...withModes, 'session/set_mode': () => refuse(-32_602, 'not in this folder') },
  });
  const session = await open();
  const turn = await session.run('hello', { permission_mode: 'full_access' });
  expect(turn).toMatchObject({
    status: 'failed',
    error: { code: 'invalid_permission_mode' },
  });
  expect(turn.error?.message).toContain('not in this folder');
  expect(wanted(agents[0])).toEqual(['full_access']);
  expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
});

test('A slow mode change does not delay an interrupt.', async () => {
  const set = Promise.withResolvers<object>();
  // Like real agents, it ignores a cancel while it has no prompt.
  const go = () => never;
  const { client, open, agents } = on({
    methods: { ...withModes, 'session/set_mode': () => set.promise },
    turns: { go },
  });
  const session = await open({ permission_mode: 'read_only' });
  const turnId = await session.send('go');
  await until('the mode is asked for', () => wanted(agents[0]).length > 0);
  expect((await interrupt(client, session, turnId)).status).toBe(202);
  set.resolve({});
  expect((await session.watch.end(turnId, 4000)).kind).toBe('turn.interrupted');
});

test('A mode that is offered as a configuration option is set as an option.', async () => {
  const { open, agents } = on(withOptions());
  const session = await open();
  await session.run('hello', { permission_mode: 'plan' });
  expect(agents[0]?.last('session/set_config_option')?.params).toMatchObject({
    configId: 'the-mode',
    value: 'plan',
  });
});

test('A model of the session or the turn is chosen before the prompt.', async () => {
  const { firstTurn, agents } = on(withOptions());
  const { session } = await firstTurn('one', { model: 'm/two' });
  await session.run('two', { model: 'm/one' });
  await session.run('three');
  const chosen = (agents[0]?.received ?? []).filter(
    ({ method }) => method === 'session/set_config_option',
  );
  expect(chosen.map(({ params }) => [params?.configId, params?.value])).toEqual([
    ['the-model', 'm/two'],
    ['the-model', 'm/one'],
    ['the-model', 'm/two'],
  ]);
});

const lacking = [
  {
    what: 'mode',
    settings: { permission_mode: 'yolo' },
    error: { code: 'invalid_permission_mode' },
    list: /"yolo".*build, plan/,
  },
  {
    what: 'model',
    settings: { model: 'gpt-0' },
    error: { code: 'invalid_model' },
    list: /"gpt-0".*m\/one, m\/two/,
  },
];

test.for(lacking)(
  'A $what that the agent lacks fails the turn with the list of offered values.',
  async ({ settings, error, list }) => {
    const { firstTurn, agents } = on(withOptions());
    const { session, turn } = await firstTurn('hello', settings);
    expect(turn).toMatchObject({ status: 'failed', error });
    expect(turn.error?.message).toMatch(list);
    expect(agents[0]?.last('session/prompt')).toBeUndefined();
    expect((await session.record()).status).toBe('ready');
  },
);

test.for(lacking)(
  'A $what that a running agent lacks is refused when the turn is sent, with the list.',
  async ({ settings, list }) => {
    const { firstTurn } = on(withOptions());
    const { session } = await firstTurn('hello');
    await expect(session.send('more', settings)).rejects.toMatchObject(anError('invalid', list));
  },
);

test.for(lacking)(
  'A $what fails the turn if the agent offers none.',
  async ({ settings, error }) => {
    const { open } = on({});
    const turn = await (await open(settings)).run('hello');
    expect(turn.error).toMatchObject({
      ...error,
      message: expect.stringContaining('the agent has not listed its choices yet') as string,
    });
  },
);

function withOptions(): AcpBehavior {
  const select = (id: string, category: string, ...values: string[]) => ({
    id,
    category,
    type: 'select',
    name: id,
    currentValue: values[0],
    options: values.map((value) => ({ value, name: value })),
  });
  const configOptions = [
    select('the-model', 'model', 'm/one', 'm/two'),
    select('the-mode', 'mode', 'build', 'plan'),
    { id: 'x', type: 'toggle' },
  ];
  return { methods: { 'session/new': () => ({ sessionId: 'raw', configOptions }) } };
}
