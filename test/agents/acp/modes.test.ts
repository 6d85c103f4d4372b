import { expect, test } from 'vitest';
import { anError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { AgentModes } from '../../../src/agents/acp/catalogue-entry.ts';
import { modeFor } from '../../../src/agents/acp/modes.ts';
import { objectionTo as claudeObjection } from '../../../src/agents/claude/settings.ts';
import { objectionTo as codexObjection } from '../../../src/agents/codex/settings.ts';
import { defaultSettings } from '../../../src/agents/provider.ts';
import {
  endTurn,
  type RawAgent,
  type RawAgentOptions,
  type RawSession,
  type AcpBehavior,
  sharedRawAgent,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';
import { asking, done, onGo, touch } from '../../support/providers/rows.ts';

/** An agent that starts in a mode in which it never asks. */
const automatic: AcpBehavior = {
  methods: {
    'session/new': (_params, { pid }) => ({
      sessionId: `raw-${pid}`,
      modes: {
        currentModeId: 'auto',
        availableModes: ['plan', 'default', 'auto', 'yolo'].map((id) => ({ id, name: id })),
      },
    }),
  },
};

const names: AgentModes = { require_approval: 'default', read_only: 'plan', full_access: 'yolo' };

/** Configures the agent with fields that the catalogue has for known agents. */
function knownAs(agent: object): RawAgentOptions {
  return { acp: { agents: { default: agent } } };
}

const on = sharedRawAgent();
const withModes = sharedRawAgent(knownAs({ modes: names }));

function wanted(agent: RawAgent | undefined): string {
  const said = (agent?.received ?? []).flatMap(({ method, params }) => {
    if (method === 'session/prompt') return ['prompt'];
    return method === 'session/set_mode' ? [String(params?.modeId)] : [];
  });
  return said.join(' ');
}

function notices(session: RawSession) {
  return session.watch.events
    .filter(({ kind }) => kind === 'session.notice')
    .map(({ payload }) => payload);
}

test('A session with require_approval switches the agent to the mode in which it asks.', async () => {
  const { firstTurn, agents } = withModes(automatic);
  const { session } = await firstTurn('one', asking);
  await session.run('two', { permission_mode: 'default' });
  expect(wanted(agents[0])).toBe('default prompt auto prompt');
});

test.each([
  ['its asking mode is unknown', {}],
  ['the agent lacks its asking mode', { modes: { require_approval: 'other' } }],
])(
  'A session with require_approval does not change the mode of the agent if %s.',
  async (_why, agent) => {
    const { open, agents } = await testRawAgent(automatic, knownAs(agent));
    expect((await (await open(asking)).run('one')).status).toBe('completed');
    expect(wanted(agents[0])).toBe('prompt');
  },
);

const frank = anError('agent_mode_does_not_ask', 'runs in its own mode "auto"');

test.each([
  ['a known agent', { modes: names }],
  ['an unknown agent', {}],
])(
  'A session reports once that its agent does not ask if nobody chose a mode: %s.',
  async (_what, agent) => {
    const { firstTurn } = await testRawAgent(automatic, knownAs(agent));
    const { session } = await firstTurn('one');
    await session.run('two', { permission_mode: 'default' });
    expect(notices(session)).toEqual([frank]);
  },
);

test('The notice names the mode and its id if only the description says that it does not ask.', async () => {
  const mode = { id: 'm7', name: 'Rocket', description: 'Runs all tools without asking.' };
  const modes = { currentModeId: 'm7', availableModes: [mode] };
  const behavior: AcpBehavior = {
    methods: { 'session/new': (_params, { pid }) => ({ sessionId: `raw-${pid}`, modes }) },
  };
  const { firstTurn } = on(behavior);
  const { session } = await firstTurn('one');
  expect(notices(session)).toMatchObject([
    anError('agent_mode_does_not_ask', 'its own mode "Rocket" (m7)'),
  ]);
});

test('A session does not report its mode if a user chose it or the mode asks.', async () => {
  const { open } = withModes(automatic);
  const session = await open();
  await session.run('one', { agent_mode: 'yolo' });
  await session.run('two', { permission_mode: 'full_access' });
  await session.run('three', asking);
  expect(notices(session)).toEqual([]);
});

test('A mode whose id is an address can also be chosen by its name, and a refusal shows both.', async () => {
  const id = (name: string) => `https://agentclientprotocol.com/protocol/session-modes#${name}`;
  const behavior: AcpBehavior = {
    methods: {
      'session/new': (_params, { pid }) => ({
        sessionId: `raw-${pid}`,
        modes: {
          currentModeId: id('agent'),
          availableModes: ['Agent', 'Plan'].map((name) => ({ id: id(name.toLowerCase()), name })),
        },
      }),
    },
  };
  const { client, open, agents } = on(behavior);
  const session = await open();
  for (const agent_mode of ['plan', id('agent'), 'Plan'])
    expect((await session.run('go', { agent_mode })).status).toBe('completed');
  expect(wanted(agents[0])).toBe(`${id('plan')} prompt ${id('agent')} prompt ${id('plan')} prompt`);
  const [acp] = await client.call(endpoints.listProviders, {});
  expect(acp?.agents.find((one) => one.default)).toMatchObject({
    modes: [id('agent'), id('plan')],
    mode_names: { [id('agent')]: 'Agent', [id('plan')]: 'Plan' },
  });
  await expect(session.send('go', { agent_mode: 'Planning' })).rejects.toThrow(
    `choose from "Agent" (${id('agent')}), "Plan" (${id('plan')})`,
  );
});

const onSilent = sharedRawAgent(knownAs({ asks: false }));

test('An agent that never asks is reported in the session record and once in the events.', async () => {
  const { open } = onSilent(automatic);
  const session = await open(asking);
  expect((await session.record()).agent_asks).toBe(false);
  await session.run('one');
  await session.run('two');
  expect(notices(session)).toMatchObject([anError('agent_never_asks', 'require_approval')]);
  expect((await session.record()).agent_asks).toBe(false);
});

test('A session without approvals does not report that its agent never asks.', async () => {
  const { firstTurn } = onSilent(automatic);
  const { session } = await firstTurn('one');
  expect(notices(session)).toEqual([]);
});

const acts: AcpBehavior['turns'] = {
  go(agent) {
    agent.update({ sessionUpdate: 'tool_call', ...touch }, done);
    return endTurn;
  },
};

test('An unknown agent that acts without asking is reported once.', async () => {
  const { open } = on({ turns: acts });
  const session = await open(asking);
  expect((await session.record()).agent_asks).toBeNull();
  await session.run('go');
  await session.run('go');
  expect(notices(session)).toMatchObject([anError('agent_did_not_ask', '"touch it"')]);
});

test.each([
  ['is known to ask', {}, { asks: true }],
  ['acts in a turn without approvals', { permission_mode: 'default' }, {}],
])('An agent that acts without asking is not reported if it %s.', async (_what, more, agent) => {
  const { firstTurn } = await testRawAgent({ turns: acts }, knownAs(agent));
  const { session } = await firstTurn('go', { ...asking, ...more });
  expect(notices(session)).toEqual([]);
});

const onRenamed = sharedRawAgent(knownAs({ asks: true, modes: { require_approval: 'gone' } }));

test('A session reports a missing asking mode once, and does not claim that its agent asks.', async () => {
  const { firstTurn } = onRenamed(automatic);
  const { session } = await firstTurn('one', asking);
  await session.run('two');
  expect(notices(session)).toMatchObject([anError('asking_mode_missing', '"gone"')]);
  expect((await session.record()).agent_asks).toBeNull();
});

test('A missing asking mode is not reported if the session names a mode of the agent.', async () => {
  const { firstTurn } = onRenamed(automatic);
  const { session } = await firstTurn('one', { ...asking, agent_mode: 'plan' });
  expect(notices(session)).toEqual([]);
});

test('An agent in its plan mode still sends its requests to the user under require_approval.', async () => {
  const { firstApproval, agents } = withModes({
    ...automatic,
    ...onGo(async (agent) => ({ stopReason: (await agent.ask(touch)).optionId })),
  });
  const { session, approval } = await firstApproval('go', { ...asking, agent_mode: 'plan' });
  expect((await session.decide(approval, 'accept')).status).toBe('completed');
  expect(wanted(agents[0])).toBe('plan prompt');
  expect(await session.record()).toMatchObject({ ...asking, agent_mode: 'plan' });
});

test('The agent_mode "default" is the mode of the agent with this name.', async () => {
  const { open, agents } = on(automatic);
  const session = await open();
  await session.run('one', { agent_mode: 'default' });
  await session.run('two');
  expect(wanted(agents[0])).toBe('default prompt auto prompt');
});

test('The agent_mode of a session applies until a turn names a mode in either field.', async () => {
  const { firstTurn, agents } = withModes(automatic);
  const { session } = await firstTurn('one', { agent_mode: 'plan' });
  await session.run('two', { permission_mode: 'full_access' });
  await session.run('three', { agent_mode: 'default', permission_mode: 'full_access' });
  await session.run('four');
  expect(wanted(agents[0])).toBe('plan prompt yolo prompt default prompt plan prompt');
});

test('The agent_mode of a turn is stored with the turn.', async () => {
  const { open } = on(automatic);
  const session = await open();
  expect(await session.run('one', { agent_mode: 'plan' })).toMatchObject({
    agent_mode: 'plan',
    permission_mode: null,
  });
  expect((await session.record()).provider_defaults).toMatchObject({ agent_mode: 'auto' });
});

test('An unknown agent_mode fails only its own turn, with the list of modes.', async () => {
  const { firstTurn } = on(automatic);
  const { session, turn } = await firstTurn('one', { agent_mode: 'nonsense' });
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'invalid_agent_mode' } });
  expect(turn.error?.message).toMatch(/agent_mode "nonsense".*plan, default, auto, yolo/);
  expect((await session.run('two', { agent_mode: 'plan' })).status).toBe('completed');
});

test('Claude and Codex refuse agent_mode because their modes are values of permission_mode.', () => {
  const settings = { ...defaultSettings(), agentMode: 'plan' };
  const refused = anError('invalid_agent_mode', 'acp');
  expect(claudeObjection(settings, [], {}, null)).toMatchObject(refused);
  expect(codexObjection(settings, null, [])).toMatchObject(refused);
});

const none = { agentMode: null, permissionMode: null };
const offered = ['read-only', 'workspaceWrite', 'auto', 'agent-full-access'];

test.each<[string, AgentModes, string | null]>([
  ['default', {}, null],
  ['require_approval', {}, null],
  ['require_approval', { require_approval: 'auto' }, 'auto'],
  ['read_only', {}, 'read-only'],
  ['accept_edits', {}, 'workspaceWrite'],
  ['full_access', { full_access: 'agent-full-access' }, 'agent-full-access'],
  ['bypass', { full_access: 'agent-full-access' }, 'agent-full-access'],
  ['full_access', {}, 'full_access'],
  ['auto', {}, 'auto'],
])(
  'The permission mode %s with the names %j is the mode %s of the agent.',
  (permissionMode, modes, found) => {
    expect(modeFor({ ...none, permissionMode }, modes, offered)).toBe(found);
  },
);
