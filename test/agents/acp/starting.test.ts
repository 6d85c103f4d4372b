import { mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { identify, isAlive } from '../../../src/core/children/identity.ts';
import { someOf } from '../../support/at-length.ts';
import { scaled } from '../../support/patience.ts';
import { interrupt, until } from '../../support/providers/calls.ts';
import {
  initialized,
  never,
  sharedRawAgent,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';

const on = sharedRawAgent();

test.each(someOf([2, '1', null, undefined], 2))(
  'An agent with protocol version %j is stopped, and its turn fails.',
  async (version) => {
    const { firstTurn, diagnostics, noAgents } = on({
      methods: { initialize: () => initialized({ protocolVersion: version }) },
    });
    const { session, turn } = await firstTurn('hello');
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_unavailable' } });
    expect(turn.error?.message).toMatch(/version/);
    await noAgents();
    expect(await session.record()).toMatchObject({ status: 'ready', failure: null });
    expect((await diagnostics()).last_error).toBe(turn.error?.message);
  },
);

test('A session is refused if the command of its agent does not exist.', async () => {
  const { client, open, cwd } = await testRawAgent(
    {},
    { acp: { command: 'no-such-agent', args: [] } },
  );
  const body = { provider: 'acp' as const, cwd };
  const opening = client.call(endpoints.createSession, { body });
  await expect(opening).rejects.toMatchObject({ code: 'provider_unavailable' });
  await expect(open()).rejects.toThrow(/no-such-agent/);
  const [provider] = await client.call(endpoints.listProviders, {});
  expect(provider).toMatchObject({ enabled: true, healthy: false });
  expect(provider?.detail).toContain('no-such-agent');
});

const exits: [number, string][] = [
  [127, 'sh: codex: not found'],
  [1, 'error: unknown option --acp'],
  [0, 'usage: agent [options]'],
];
test.each(someOf(exits, 2))(
  'An agent that exits with %i at once fails the turn with the output of the agent.',
  async (code, said) => {
    const { open } = await testRawAgent(
      {},
      { acp: { command: '/bin/sh', args: ['-c', `echo "${said}" >&2; exit ${code}`] } },
    );
    const session = await open();
    for (let attempt = 0; attempt < 5; attempt++) {
      const turn = await session.run('hello');
      expect(turn).toMatchObject({
        status: 'failed',
        error: { code: 'provider_unavailable' },
      });
      expect(turn.error?.message).toContain(`exited with code ${code}`);
      expect(turn.error?.message).toContain(said);
    }
    expect(await session.record()).toMatchObject({ status: 'ready', failure: null });
  },
);

test.each(['initialize', 'session/new'])(
  'An agent that never answers %s is stopped.',
  async (method) => {
    const limit = scaled(2000);
    const { firstTurn, noAgents } = await testRawAgent(
      { methods: { [method]: () => never } },
      { acp: { request_timeout_ms: limit } },
    );
    const { session, turn } = await firstTurn('hello');
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_unavailable' } });
    expect(turn.error?.message).toMatch(
      new RegExp(
        `request "${method}" to the agent failed: the agent sent no answer within ${limit / 1000} s`,
      ),
    );
    await noAgents();
    expect(await session.record()).toMatchObject({ status: 'ready', active_turn_id: null });
  },
);

test.each(someOf([null, {}, 'raw', { sessionId: 7 }], 3))(
  'An agent that opens %j as a session is stopped.',
  async (opened) => {
    const { firstTurn, noAgents } = on({ methods: { 'session/new': () => opened } });
    const { turn } = await firstTurn('hello');
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_unavailable' } });
    expect(turn.error?.message).toMatch(/^acp: /);
    await noAgents();
  },
);

test('A turn fails with the name of its directory if the directory is missing.', async () => {
  const { open, cwd } = on({});
  const inside = mkdtempSync(join(cwd, 'inside-'));
  const session = await open({ cwd: inside });
  rmdirSync(inside);
  const turn = await session.run('hello');
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_unavailable' } });
  expect(turn.error?.message).toContain(inside);
  mkdirSync(inside);
  expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
});

test('An interrupt stops an agent that is still starting, and the next turn starts another agent.', async () => {
  let starts = 0;
  const initialize = () => (++starts === 1 ? never : initialized());
  const { client, open, agents } = on({ methods: { initialize } });
  const session = await open();
  const turnId = await session.send('hello');
  await until('the agent has been asked', () => agents[0]?.last('initialize') !== undefined);
  const { status, turn } = await interrupt(client, session, turnId);
  expect([status, turn.status]).toEqual([202, 'interrupted']);
  await until('the agent is gone', () => agents[0]?.gone === true);
  expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
});

test('An agent that survives the end of its input is killed with its children.', async () => {
  const { client, firstTurn, agents } = on({});
  const { session } = await firstTurn('hello');
  const [agent] = agents;
  agent?.outlive();
  const child = (await agent?.child()) ?? 0;
  const sleeper = identify(child);
  expect(sleeper).toBeDefined();
  await client.call(endpoints.closeSession, { params: { session_id: session.id }, body: {} });
  await until('the agent is gone', () => agent?.gone === true);
  expect(agent?.reports).toContainEqual({ eof: true });
  expect(agent?.reports).toContainEqual({ signal: 'SIGTERM' });
  if (sleeper) await until('its child is gone', () => !isAlive(sleeper));
});

test('Each session has its own agent process, in the directory of the session.', async () => {
  const { open, agents, cwd } = on({});
  const inside = mkdtempSync(join(cwd, 'inside-'));
  const [first, second] = [await open(), await open({ cwd: inside })];
  await Promise.all([first.run('hello'), second.run('hello')]);
  const both = new Set([cwd, inside]);
  expect(new Set(agents.map((agent) => agent.cwd))).toEqual(both);
  const directories = agents.map((agent) => agent.last('session/new')?.params?.cwd);
  expect(new Set(directories)).toEqual(both);
});
