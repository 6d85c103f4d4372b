import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { interrupt, until } from '../../support/providers/calls.ts';
import { noticingClock } from '../../support/providers/noticing-clock.ts';
import {
  type CodexBehavior,
  type RawCodex,
  type RawTurn,
  sharedRawCodex,
  TOO_LONG,
  testRawCodex,
} from '../../support/providers/raw-codex.ts';
import { scaled } from '../../support/patience.ts';

const on = sharedRawCodex();

interface Server {
  env: Record<string, string>;
}

/** Sends a text and does not end the turn. */
const half = (turn: RawTurn) =>
  turn.note('item/agentMessage/delta', { itemId: 'm', delta: `of ${turn.thread}` });

const halves: CodexBehavior = { turns: { go: half } };

test('A session that is closed stops its MCP servers, and other sessions keep theirs.', async () => {
  const { client, open, agents } = await testRawCodex({});
  const mcp_servers = [{ type: 'stdio' as const, name: 'files', command: '/bin/files' }];
  const sessions = [await open({ mcp_servers }), await open({ mcp_servers })];
  for (const session of sessions) await session.run('hello');
  // Codex keeps the MCP servers of a thread running after the thread was unsubscribed.
  const started = agents[0]?.received
    .filter(({ method }) => method === 'thread/start')
    .flatMap(({ params }) => {
      const { config } = params as { config: { mcp_servers: Record<string, Server> } };
      const { cadre, files } = config.mcp_servers;
      return [cadre, files].map(({ env } = { env: {} }) => spawn('sleep', ['600'], { env }));
    }) as ChildProcess[];
  try {
    expect(started).toHaveLength(4);
    const ended = started.slice(0, 2).map((child) => once(child, 'exit'));
    const params = { session_id: sessions[0]?.id ?? '' };
    await client.call(endpoints.closeSession, { params, body: {} });
    await Promise.all(ended);
    const signals = started.map(({ signalCode }) => signalCode);
    expect(signals).toEqual(['SIGKILL', 'SIGKILL', null, null]);
  } finally {
    for (const child of started) child.kill('SIGKILL');
  }
});

test('All sessions share one app-server, and each receives only its own text.', async () => {
  const { open, agents, diagnostics } = await testRawCodex(halves);
  const sessions = [await open(), await open(), await open()];
  const turns = await Promise.all(sessions.map((session) => session.send('go')));
  await Promise.all(sessions.map((session, at) => session.watch.kind('message.delta', turns[at])));
  for (const session of sessions) {
    const { provider_session_ref: ref } = await session.record();
    const said = session.watch.events.filter(({ kind }) => kind === 'message.delta');
    expect(said.map(({ payload }) => payload.text)).toEqual([`of ${ref}`]);
  }
  expect(agents).toHaveLength(1);
  expect(await diagnostics()).toMatchObject({
    pid: agents[0]?.pid,
    version: '9.9.9',
    sessions: 3,
    unknown_messages: 0,
  });
  for (const turn of agents[0]?.turns ?? []) turn.complete();
  await Promise.all(sessions.map(({ watch }, at) => watch.end(turns[at] ?? '')));
});

test('The environment and arguments of the app-server contain nothing of a session.', async () => {
  const { open, agents, cwd } = await testRawCodex({}, { env: { OWN: 'of the configuration' } });
  await (await open()).run('x');
  const [server] = agents;
  expect(server?.args.at(-1)).toBe('app-server');
  expect(server?.env).toMatchObject({ HOME: cwd, OWN: 'of the configuration' });
  expect(Object.keys(server?.env ?? {}).filter((name) => /SESSION|TOKEN/.test(name))).toEqual([]);
});

test('The death of the app-server fails the turn of each session, and the next turns share a new one.', async () => {
  const { open, agents } = on(halves);
  const sessions = [await open(), await open()];
  const turns = await Promise.all(sessions.map((session) => session.send('go')));
  await Promise.all(sessions.map((session, at) => session.watch.kind('message.delta', turns[at])));
  agents[0]?.stderr('out of luck\n');
  agents[0]?.exit(3);
  for (const [at, session] of sessions.entries()) {
    await session.watch.end(turns[at] ?? '');
    expect((await session.turn(turns[at] ?? '')).error).toEqual({
      code: 'provider_exited',
      message: 'the agent exited with code 3',
    });
  }
  const again = await Promise.all(sessions.map((session) => session.run('again')));
  expect(again.map(({ text }) => text)).toEqual(['again', 'again']);
  expect(agents).toHaveLength(2);
  expect(agents[1]?.requests('thread/resume')).toHaveLength(2);
});

test('The death of the app-server during the start of a turn fails that turn.', async () => {
  const { open } = on({
    requests: {
      'turn/start'(_, server) {
        server.exit(4);
        return new Promise<never>(() => undefined);
      },
    },
  });
  const { error } = await (await open()).run('x');
  expect(error).toEqual({ code: 'provider_exited', message: 'the agent exited with code 4' });
});

test('An approval is cancelled with its turn if the app-server dies.', async () => {
  const { firstApproval, agents } = on({
    turns: {
      go: (turn) =>
        turn
          .ask('item/commandExecution/requestApproval', { itemId: 'i', command: 'it' })
          .catch(() => undefined),
    },
  });
  const { session, turnId } = await firstApproval('go', { permission_mode: 'require_approval' });
  agents[0]?.exit(1);
  expect((await session.watch.end(turnId)).kind).toBe('turn.failed');
  const { payload } = await session.watch.kind('approval.resolved', turnId);
  expect(payload.approval).toMatchObject({ status: 'cancelled' });
});

test('A line that is not JSON stops the app-server, and the turn fails with the line.', async () => {
  const { firstTurn, noAgents } = on({
    turns: { go: ({ server }) => server.write('panicked at nothing\n') },
  });
  const { session, turn } = await firstTurn('go');
  expect(turn.error?.code).toBe('provider_exited');
  expect(turn.error?.message).toContain('broke the protocol and was stopped');
  expect(turn.error?.message).toContain('codex sent a line that is not JSON: panicked at nothing');
  await noAgents();
  expect((await session.run('next')).text).toBe('next');
});

test('A message that is too long fails only the turn of its session.', async () => {
  const { open, agents } = on({
    turns: {
      go: half,
      flood: (turn) => turn.done({ type: 'agentMessage', id: 'm', text: TOO_LONG }),
    },
  });
  const [other, session] = [await open(), await open()];
  const running = await other.send('go');
  await other.watch.kind('message.delta', running);
  const { error } = await session.run('flood');
  expect(error?.code).toBe('provider_exited');
  expect(error?.message).toMatch(/too long/);
  expect(await other.record()).toMatchObject({ active_turn_id: running });
  expect((await session.run('next')).text).toBe('next');
  agents[0]?.turns[0]?.complete();
  expect((await other.watch.end(running)).kind).toBe('turn.completed');
  expect(agents).toHaveLength(1);
});

test('A response that is too long fails only its own request.', async () => {
  const { open } = on({
    requests: {
      'turn/start': (_, { turns }) => ({ turn: { id: `t${turns.length}`, TOO_LONG } }),
    },
  });
  const { error } = await (await open()).run('go');
  expect(error?.code).toBe('provider_unavailable');
  expect(error?.message).toContain(
    'request "turn/start" to the agent failed: the response is too long',
  );
});

/** Ignores interrupts. */
const deaf: CodexBehavior = { turns: { go: half }, requests: { 'turn/interrupt': () => ({}) } };

test('A session that is closed ends its own turn and no other.', async () => {
  const { open, agents, client } = on(halves);
  const [closed, other] = [await open(), await open()];
  const turns = [await closed.send('go'), await other.send('go')] as const;
  await closed.watch.kind('message.delta', turns[0]);
  await other.watch.kind('message.delta', turns[1]);
  const params = { session_id: closed.id };
  await client.call(endpoints.closeSession, { params, body: {} });
  const [server] = agents;
  await until('it is left', () => server?.requests('thread/unsubscribe').length === 1);
  const { provider_session_ref: threadId } = await closed.record();
  expect(server?.requests('turn/interrupt')).toMatchObject([{ threadId }]);
  expect(server?.requests('thread/backgroundTerminals/clean')).toEqual([{ threadId }]);
  turnOf(server, (await other.record()).provider_session_ref)?.complete();
  expect((await other.watch.end(turns[1])).kind).toBe('turn.completed');
});

function turnOf(server: RawCodex | undefined, threadId: unknown): RawTurn | undefined {
  return server?.turnOf(threadId);
}

test(
  'Late text of a turn that did not end is dropped, and the next turn of its thread waits for its end.',
  { timeout: scaled(40_000) },
  async () => {
    const { open, agents, client } = on(deaf);
    const [session, other] = [await open(), await open()];
    const kept = await other.send('go');
    await other.watch.kind('message.delta', kept);
    const turnId = await session.send('go');
    await session.watch.kind('message.delta', turnId);
    await interrupt(client, session, turnId);
    expect((await session.watch.end(turnId, 15_000)).kind).toBe('turn.interrupted');

    const next = await session.send('next');
    const [server] = agents;
    const { provider_session_ref: ref } = await session.record();
    const left = server?.turns.find(({ thread }) => thread === ref);
    left?.say('far too late');
    expect(server?.requests('thread/resume')).toEqual([]);
    left?.complete('interrupted');
    await session.watch.end(next);
    expect(await session.turn(next)).toMatchObject({ status: 'completed', text: 'next' });
    expect(session.watch.events.some(({ payload }) => payload.text === 'far too late')).toBe(false);
    expect(await other.record()).toMatchObject({ active_turn_id: kept });
    expect(agents).toHaveLength(1);
    turnOf(server, (await other.record()).provider_session_ref)?.complete();
    await other.watch.end(kept);
  },
);

test('The app-server stops after the last session has left, and serves a session that arrives soon after.', async () => {
  const { firstTurn, agents, noAgents, client, diagnostics } = await testRawCodex(
    {},
    { providers: { idle_timeout_ms: 1 } },
  );
  const { session } = await firstTurn('x');
  await until('the session has left', () => agents[0]?.requests('thread/unsubscribe').length === 1);
  await client.call(endpoints.listModels, { params: { provider: 'codex' } });
  await session.run('y');
  expect(agents).toHaveLength(1);
  await noAgents();
  expect(agents[0]?.reports).toContainEqual({ eof: true });
  expect((await diagnostics()).pid).toBeNull();
  await session.run('z');
  expect(agents).toHaveLength(2);
});

test('All sessions get another app-server while the previous one, which closed its output, still stops.', async () => {
  const { clock, noticed } = noticingClock();
  const { firstTurn, agents } = await testRawCodex({}, { clock });
  const { session } = await firstTurn('hello');
  agents[0]?.outlive();
  agents[0]?.hangUp();
  await noticed;
  expect((await firstTurn('new')).turn).toMatchObject({ status: 'completed', text: 'new' });
  expect(await session.run('again')).toMatchObject({ status: 'completed', text: 'again' });
  expect(agents).toHaveLength(2);
});
