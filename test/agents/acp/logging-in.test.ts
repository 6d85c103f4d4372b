import { expectError } from '../../support/an-error.ts';
import { controlledProgram } from '../../support/providers/scripted-agent.ts';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { authStatusEndpoints } from '../../../src/api/provider-logins.ts';
import { interrupt, until } from '../../support/providers/calls.ts';
import {
  capabilities,
  endTurn,
  initialized,
  never,
  type RawAgent,
  Refusal,
  type AcpBehavior,
  sharedRawAgent,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';

const apiKey = { id: 'api-key', name: 'API key', _meta: { 'api-key': { provider: 'raw' } } };
const browser = { id: 'browser', name: 'Sign in with a browser' };
const terminal = { id: 'tui', name: 'In a terminal', type: 'terminal', args: ['--login'] };

/** An agent that refuses the method `refused` until one of its processes has authenticated. */
function lockedRole(
  authMethods: readonly unknown[],
  refused: 'session/new' | 'session/resume' | 'session/prompt' = 'session/new',
): AcpBehavior {
  let isLoggedIn = refused === 'session/resume';
  const refusing =
    (answer: (agent: RawAgent) => unknown) => (_params: unknown, agent: RawAgent) => {
      if (isLoggedIn) return answer(agent);
      throw new Refusal(-32_000, 'Authentication required');
    };
  return {
    methods: {
      initialize: () => initialized({ authMethods }),
      authenticate: () => {
        isLoggedIn = true;
        return {};
      },
      [refused]: refusing((agent) => {
        if (refused === 'session/new') return { sessionId: `raw-${agent.pid}` };
        if (refused === 'session/resume') return {};
        agent.say('hello');
        return endTurn;
      }),
    },
    turns: {
      'log out': (agent) => {
        isLoggedIn = false;
        agent.say('bye');
        return endTurn;
      },
    },
  };
}

const key = { acp: { env: { RAW_API_KEY: 'dummy' } } };
const withKey = sharedRawAgent(key);

test.each(['session/new', 'session/prompt'] as const)(
  'The server authenticates and the turn runs if the agent refuses %s.',
  async (refused) => {
    const { firstTurn, agents } = withKey(lockedRole([apiKey, browser], refused));
    const { turn } = await firstTurn('hello');
    expect(turn).toMatchObject({ status: 'completed', text: 'hello' });
    expect(agents[0]?.last('authenticate')?.params).toEqual({ methodId: 'api-key' });
    expect(agents[0]?.received.filter(({ method }) => method === refused)).toHaveLength(2);
  },
);

test('The server authenticates and the turn runs if the agent refuses to resume its session.', async () => {
  const { firstTurn, agents, diagnostics } = withKey(lockedRole([apiKey], 'session/resume'));
  const { session } = await firstTurn('log out');
  agents[0]?.exit(0);
  await until('cadre knows of it', async () => (await diagnostics()).sessions === 0);
  expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
  expect(agents[1]?.last('authenticate')?.params).toEqual({ methodId: 'api-key' });
});

test('A turn never starts a login that opens a browser, and its error lists the login methods.', async () => {
  const { firstTurn, agents } = await testRawAgent(lockedRole([browser, terminal]));
  const { session, turn } = await firstTurn('hello');
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'auth_required' } });
  expect(turn.error?.message).toContain('browser (Sign in with a browser)');
  expect(turn.error?.message).toContain('tui (In a terminal, needs a terminal)');
  expect(turn.error?.message).toContain('cadre providers login acp --agent default');
  expect(agents[0]?.last('authenticate')).toBeUndefined();
  expect(await session.record()).toMatchObject({ status: 'ready', failure: null });
});

test('A turn fails with the reason and the login methods if authenticate fails.', async () => {
  const behavior = lockedRole([apiKey]);
  const authenticate = () => {
    throw new Refusal(-32_603, 'the key is too old');
  };
  const { open } = withKey({ ...behavior, methods: { ...behavior.methods, authenticate } });
  const turn = await (await open()).run('hello');
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'auth_required' } });
  expect(turn.error?.message).toMatch(
    /"api-key" failed: the key is too old\): .*login methods: api-key/,
  );
});

test('A turn fails after one authenticate if the agent still refuses.', async () => {
  const behavior = lockedRole([apiKey], 'session/prompt');
  const { open, agents } = withKey({
    ...behavior,
    methods: { ...behavior.methods, authenticate: () => ({}) },
  });
  const turn = await (await open()).run('hello');
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'auth_required' } });
  expect(agents[0]?.received.filter(({ method }) => method === 'authenticate')).toHaveLength(1);
});

test('A turn that is interrupted during authenticate is not prompted again.', async () => {
  const answer = Promise.withResolvers<object>();
  const behavior = lockedRole([apiKey], 'session/prompt');
  const { client, open, agents } = withKey({
    ...behavior,
    methods: { ...behavior.methods, authenticate: () => answer.promise },
  });
  const session = await open();
  const turnId = await session.send('hello');
  await until('it logs in', () => agents[0]?.last('authenticate') !== undefined);
  await interrupt(client, session, turnId);
  await agents[0]?.untilReceived('session/cancel');
  answer.resolve({});
  await session.watch.kind('turn.interrupted', turnId);
  const prompts = agents[0]?.received.filter(({ method }) => method === 'session/prompt');
  expect(prompts).toHaveLength(1);
});

const params = { agent: 'default' };

test('The login lists the methods of the agent with their terminal programs and variables.', async () => {
  const variables = { id: 'env', type: 'env_var', vars: [{ name: 'RAW_TOKEN' }] };
  const old = {
    id: 'old',
    _meta: { 'terminal-auth': { command: '/bin/old', args: ['auth'], env: { MORE: '1' } } },
  };
  const offered = [apiKey, terminal, old, variables, { name: 'no id' }, 7, null];
  const { client, agents, noAgents } = await testRawAgent(lockedRole(offered), key);
  const login = await client.call(endpoints.getAgentLogin, { params });
  expect(login).toMatchObject({
    agent: 'default',
    auth: { authenticated: null },
    can_log_out: false,
    methods: [
      { id: 'api-key', type: 'agent', needs_person: false, program: null },
      {
        id: 'tui',
        needs_person: true,
        program: {
          command: controlledProgram.command,
          args: [controlledProgram.file, '--login'],
          env: { RAW_API_KEY: 'dummy' },
        },
      },
      {
        id: 'old',
        type: 'terminal',
        program: { command: '/bin/old', args: ['auth'], env: { MORE: '1' } },
      },
      {
        id: 'env',
        needs_person: true,
        variables: [{ name: 'RAW_TOKEN', optional: false, set: false }],
      },
    ],
  });
  const said = agents[0]?.last('initialize')?.params?.clientCapabilities;
  expect(said).toMatchObject({ auth: { terminal: true }, _meta: { 'terminal-auth': true } });
  await noAgents();
});

test('An agent without a login is unhealthy, and its sessions run after authenticate.', async () => {
  const { client, open } = await testRawAgent(lockedRole([browser]));
  const session = await open();
  expect(await session.run('hello')).toMatchObject({ error: { code: 'auth_required' } });
  const status = () => client.call(authStatusEndpoints.acp, {});
  expect(await status()).toMatchObject({ authenticated: false });
  const provider = async () => (await client.call(endpoints.listProviders, {}))[0];
  const login = expect.stringContaining('not logged in');
  const loggedOut = { healthy: false, detail: login };
  const agents = expect.arrayContaining([expect.objectContaining(loggedOut)]);
  expect(await provider()).toMatchObject({ ...loggedOut, agents });
  expect((await provider())?.detail).toContain('run cadre providers login acp --agent default');
  expect(await client.call(endpoints.getHealth, {})).toMatchObject({ status: 'degraded' });
  const body = { method_id: 'browser' };
  const made = await client.call(endpoints.authenticateAgent, { params, body });
  expect(made).toMatchObject({ authenticated: true, mode: 'agent_managed' });
  expect(await status()).toEqual(made);
  expect(await provider()).toMatchObject({ healthy: true, detail: 'ready' });
  expect(await client.call(endpoints.getHealth, {})).toMatchObject({ status: 'ok' });
  expect(await session.run('hello')).toMatchObject({ status: 'completed' });
});

test.each([
  ['_auth/status_update', { authStatus: { kind: 'none', label: 'Not signed in' } }, false],
  ['_auth/status_update', { authStatus: { kind: 'api_key', label: 'A key' } }, true],
  ['auth/status_update', { state: 'unauthenticated' }, false],
  ['auth/status_update', { state: 'not_required' }, true],
])(
  'The login status follows the message %s %j of the agent.',
  async (method, params_, authenticated) => {
    const { client, open, diagnostics } = await testRawAgent({
      turns: {
        say: (agent) => {
          agent.send({ method, params: params_ });
          return never;
        },
      },
    });
    const session = await open();
    const turnId = await session.send('say');
    await until('it is known', async () => {
      const status = await client.call(authStatusEndpoints.acp, {});
      return status.authenticated === authenticated;
    });
    expect((await diagnostics()).unknown_messages).toBe(0);
    await interrupt(client, session, turnId);
  },
);

test('A login with an unknown or terminal method is refused with the list of methods.', async () => {
  const { client, agents } = await testRawAgent(lockedRole([browser, terminal]));
  for (const method_id of ['nonsense', 'tui']) {
    const made = client.call(endpoints.authenticateAgent, { params, body: { method_id } });
    await expectError(made, 'invalid');
    await expect(made).rejects.toThrow(method_id === 'tui' ? /terminal/ : /browser.*tui/);
  }
  const unknown = { params: { agent: 'nobody' }, body: {} };
  await expectError(client.call(endpoints.authenticateAgent, unknown), 'not_found');
  expect(agents.some((agent) => agent.last('authenticate'))).toBe(false);
});

test('A logout succeeds only if the agent supports it.', async () => {
  const behavior = lockedRole([browser]);
  const able = { ...capabilities, auth: { logout: {} } };
  let canLogOut = true;
  const initialize = () => initialized(canLogOut ? { agentCapabilities: able } : {});
  const { client, agents } = await testRawAgent({
    ...behavior,
    methods: { ...behavior.methods, initialize, logout: () => ({}) },
  });
  const ended = await client.call(endpoints.logOutAgent, { params });
  expect(ended).toMatchObject({ authenticated: false, detail: 'logged out' });
  expect(agents[0]?.last('logout')?.params).toEqual({});
  canLogOut = false;
  await expectError(client.call(endpoints.logOutAgent, { params }), 'provider_managed');
});

test('The login check fails before the login and succeeds after it.', async () => {
  const { client } = await testRawAgent(lockedRole([browser]));
  const check = () => client.call(endpoints.checkAgentLogin, { params });
  await expect(check()).rejects.toThrow(/not logged in to agent default/);
  await client.call(endpoints.authenticateAgent, { params, body: {} });
  expect(await check()).toMatchObject({ authenticated: true });
});
