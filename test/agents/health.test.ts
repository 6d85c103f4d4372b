import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import type { Client } from '../../src/client/client.ts';
import { testRuntime } from '../support/runtime.ts';
import { until } from '../support/providers/calls.ts';
import { refuse } from '../support/providers/rows.ts';
import { initialized, testRawAgent } from '../support/providers/raw-agent.ts';
import { testRawClaude } from '../support/providers/raw-claude.ts';
import { testRawCodex } from '../support/providers/raw-codex.ts';

const health = async (client: Client, provider: string) =>
  (await client.call(endpoints.listProviders, {})).find(({ id }) => id === provider);

/** An agent that starts only while `isGood` returns true. */
const moody = (isGood: () => boolean) => (agent: { exit(code: number): void }) => {
  if (!isGood()) agent.exit(1);
};

test('A provider whose agent does not start is unhealthy until a start succeeds (acp).', async () => {
  let isGood = false;
  const initialize = (_params: object, agent: { exit(code: number): void }) => {
    moody(() => isGood)(agent);
    return { protocolVersion: 1, agentCapabilities: {} };
  };
  const { client, open } = await testRawAgent({ methods: { initialize } });
  expect(await health(client, 'acp')).toMatchObject({ healthy: true, detail: 'ready' });
  const session = await open();
  expect((await session.run('hello')).error?.code).toBe('provider_unavailable');
  const sick = await health(client, 'acp');
  expect(sick?.healthy).toBe(false);
  expect(sick?.detail).toMatch(/^the last start failed: acp: .*exited with code 1/);
  expect(await client.call(endpoints.getHealth, {})).toMatchObject({ status: 'degraded' });
  isGood = true;
  expect((await session.run('hello')).status).toBe('completed');
  expect(await health(client, 'acp')).toMatchObject({ healthy: true, detail: 'ready' });
  expect(await client.call(endpoints.getHealth, {})).toMatchObject({ status: 'ok' });
});

test.for(['claude', 'codex'] as const)(
  'A provider whose agent does not start is unhealthy until a start succeeds (%s).',
  async (provider) => {
    let isGood = false;
    const behavior = { begins: moody(() => isGood) };
    const play = provider === 'claude' ? testRawClaude : testRawCodex;
    const { client, open } = await play(behavior);
    const session = await open();
    expect((await session.run('hello')).error?.code).toBe('provider_unavailable');
    expect(await health(client, provider)).toMatchObject({ healthy: false });
    isGood = true;
    expect((await session.run('hello')).status).toBe('completed');
    expect(await health(client, provider)).toMatchObject({ healthy: true, detail: 'ready' });
  },
);

/** Agents whose login expires during a session, each with its own error. */
const loggingOut = {
  acp: () =>
    testRawAgent({
      methods: { initialize: () => initialized({ authMethods: [{ id: 'web', name: 'Web' }] }) },
      turns: { out: () => refuse(-32_000, 'Authentication required: 401 token expired') },
    }),
  claude: () =>
    testRawClaude({
      turns: {
        out: (agent) =>
          agent.result({
            is_error: true,
            api_error_status: 401,
            result: 'Failed to authenticate. API Error: 401 OAuth token has expired',
          }),
      },
    }),
  codex: () =>
    testRawCodex({
      turns: {
        out: (turn) =>
          turn.complete('failed', {
            message: 'unexpected status 401 Unauthorized',
            codexErrorInfo: { responseStreamConnectionFailed: { httpStatusCode: 401 } },
          }),
      },
    }),
};

test.for(['acp', 'claude', 'codex'] as const)(
  'An expired login fails the turn with the login command, and makes its provider unhealthy (%s).',
  async (provider) => {
    const { client, open } = await loggingOut[provider]();
    const session = await open();
    expect((await session.run('hello')).status).toBe('completed');
    const { error } = await session.run('out');
    expect(error?.code).toBe('auth_required');
    const command = /run "?(cadre providers login acp|claude auth login|codex login)/;
    expect(error?.message).toMatch(command);
    const sick = await health(client, provider);
    expect(sick?.healthy).toBe(false);
    expect(sick?.detail).toMatch(command);
    expect((await session.run('out')).error?.code).toBe('auth_required');
    expect((await health(client, provider))?.healthy).toBe(false);
    expect((await session.run('hello')).status).toBe('completed');
    expect(await health(client, provider)).toMatchObject({ healthy: true, detail: 'ready' });
  },
);

test('An interrupt during the start of an agent is not an error of the provider.', async () => {
  const { client, open, agents, diagnostics } = await testRawAgent({
    methods: { initialize: () => new Promise(() => undefined) },
  });
  const session = await open();
  const turnId = await session.send('hello');
  await until('it starts', () => agents[0]?.last('initialize') !== undefined);
  const params = { session_id: session.id, turn_id: turnId };
  await client.call(endpoints.interruptTurn, { params, body: {} });
  expect((await session.watch.end(turnId)).kind).toBe('turn.interrupted');
  await until('its agent is gone', () => agents[0]?.gone === true);
  expect((await diagnostics()).last_error).toBeNull();
  expect(await health(client, 'acp')).toMatchObject({ healthy: true });
});

test('A disabled section is reported as disabled, not as missing.', async () => {
  const { client } = await testRuntime({
    config: { providers: { acp: { enabled: false, command: 'x' } } },
  });
  const { detail } = (await health(client, 'acp')) ?? {};
  expect(detail).toBe('disabled: set providers.acp.enabled to true');
});

test('The stderr of a shared codex is not part of the error of a session.', async () => {
  const { open, agents, diagnostics } = await testRawCodex({ turns: { go: () => undefined } });
  const session = await open();
  const turnId = await session.send('go');
  await until('it is at the turn', () => agents[0]?.turns.length === 1);
  agents[0]?.stderr('\u001B[31mof another session\u001B[0m\n');
  agents[0]?.exit(101);
  await session.watch.end(turnId);
  const { error } = await session.turn(turnId);
  expect(error).toEqual({ code: 'provider_exited', message: 'the agent exited with code 101' });
  expect((await diagnostics()).last_error).toBe(
    'the agent exited with code 101: of another session',
  );
});
