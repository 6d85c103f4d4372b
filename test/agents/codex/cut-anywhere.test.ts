import { PassThrough } from 'node:stream';
import { setImmediate as nextLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CodexAgent } from '../../../src/agents/codex/agent.ts';
import { AppServer } from '../../../src/agents/codex/app-server.ts';
import { Reader } from '../../../src/agents/codex/items.ts';
import { readRequest } from '../../../src/agents/codex/requests.ts';
import { OutputLines } from '../../../src/agents/output-lines.ts';
import { type AgentSink, defaultSettings } from '../../../src/agents/provider.ts';
import type { OutgoingMessage, ReadPosition } from '../../../src/agents/read-position.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { aSession } from '../../support/records.ts';
import { expectEqualTurns, isFoundWithout } from '../cut-anywhere.ts';
import { childWith } from '../cut-child.ts';
import { appServerOf, codexOptions, codexProtocol, THREAD } from './cut-protocol.ts';
import { sharedWires, wires } from './cut-wires.ts';

test.each(Object.entries(wires))(
  'A turn of codex that another server continues after any update, write and message has the same events: %s.',
  (_name, wire) => expectEqualTurns(wire, codexProtocol()),
);

test.each(Object.entries(sharedWires))(
  'Turns of two sessions of one app-server have the same events if another server continues them: %s.',
  (_name, wire) => expectEqualTurns(wire, codexProtocol([THREAD, 't2'])),
);

test.each([
  ['texts, reasoning and plans', 'state.turn.is', 'starting'],
  ['texts, reasoning and plans', 'state.turn.id', null],
  ['an interrupt of a turn whose end was missed', 'state.turn.hasBegun', false],
  ['an error after retries', 'state.turn.error', null],
  ['a turn that codex refuses', 'state.turn.start', null],
  ['texts, reasoning and plans', 'state.reader.streamed', []],
  ['commands and calls', 'state.reader.outputs', []],
  ['requests that a person decides', 'state.reader.wishes', []],
  ['texts, reasoning and plans', 'state.reader.hasOmitted', false],
  ['requests that a person decides', 'state.reader.declined', []],
  ['usage', 'state.meter.before', null],
  ['subagents', 'state.server.subagents', []],
  ['a limit of the account', 'state.server.rateLimits', null],
])(
  'A turn of codex has other events if the saved state lacks a field: %s, %s.',
  async (name, field, empty) => {
    const wire = wires[name] ?? { steps: [] };
    expect(await isFoundWithout(wire, codexProtocol(), field, empty)).toBe(true);
  },
);

/** Takes updates and stores nothing, although positions are saved. */
const silent = {
  rows: {
    savePosition: () => undefined,
    queue(message: OutgoingMessage) {
      message.onStored();
      void message.send();
    },
  },
  update: () => undefined,
  ask: async () => ({ decision: 'cancelled' as const }),
  saveFile: async () => null,
} satisfies AgentSink;

test('An agent that takes over a turn leaves a retired app-server after the turn, and knows its version.', async () => {
  const clock = new ManualClock();
  const session = aSession({ provider: 'codex', provider_session_ref: THREAD });
  const options = codexOptions(clock);
  const lease = (server: AppServer) => ({ server, release: async () => undefined });
  const stdout = new PassThrough();
  const thread = { id: THREAD, status: { type: 'idle' } };
  const results: Record<string, object> = {
    initialize: { userAgent: 'codex/0.169.0' },
    'thread/resume': { thread },
    'turn/start': { turn: { id: 'u1' } },
  };
  const child = childWith(stdout, (line) => {
    const { id, method } = JSON.parse(line) as { id: number; method: string };
    if (results[method]) stdout.write(`${JSON.stringify({ id, result: results[method] })}\n`);
  });
  const start = {
    clock,
    command: 'codex',
    args: [],
    env: {},
    cwd: '/',
    onUnknown: () => undefined,
  };
  const first = await AppServer.start({
    ...start,
    supervisor: { start: async () => child } as never,
    onVersion: () => undefined,
    onLost: () => undefined,
  });
  const agent = new CodexAgent(session, silent, lease(first), options);
  await agent.open();
  void agent.prompt([{ type: 'text', text: 'go' }], defaultSettings());
  while (JSON.parse(agent.output?.position.state ?? '{}').turn?.id !== 'u1') await nextLoop();
  first.retire();
  const position = agent.output?.position as ReadPosition;

  const versions: (string | null)[] = [];
  const output = new PassThrough();
  const heard: { id?: number }[] = [];
  const running = childWith(output, (line) => heard.push(JSON.parse(line) as object));
  const second = appServerOf(running, clock, position.at, (version) => versions.push(version));
  const next = new CodexAgent(session, silent, lease(second), options, position);
  const outcome = next.attach(THREAD, position.state ?? '', {
    settings: defaultSettings(),
    isInterrupted: false,
    tools: [],
    messages: [],
    requests: [],
  });
  const params = { threadId: THREAD, turn: { id: 'u1', status: 'completed' } };
  output.write(`${JSON.stringify({ method: 'turn/completed', params })}\n`);
  expect((await outcome).status).toBe('completed');
  expect(await next.gone).toBe('was replaced by an agent with the new login');
  expect(versions).toEqual(['0.169.0']);
  // The line with the end of the turn is read again if the end is not stored.
  expect(next.output?.position).toMatchObject({ at: position.at, state: position.state });
  // The answer to a request of the first server may still come.
  void second.ask('thread/unsubscribe', {});
  expect(heard.every(({ id = 0 }) => id > 2 ** 20 && Number.isSafeInteger(id))).toBe(true);
  expect(heard.length).toBeGreaterThan(0);
});

test('The position of a session is stored after each 64 KiB that another session of the app-server has written.', () => {
  const saved: number[] = [];
  const sink: AgentSink = {
    ...silent,
    rows: { ...silent.rows, savePosition: () => saved.push(lines.position.at) },
  };
  const lines = new OutputLines({
    sink,
    save: () => ({}),
    child: { outlives: true, acknowledge: () => undefined },
  });
  const kib = 1024;
  for (let begin = 0; begin < 200 * kib; begin += kib) lines.pass({ begin, end: begin + kib });
  expect(saved).toEqual([65 * kib, 130 * kib, 195 * kib]);
});

test.each([
  ['first', [10, 20]],
  ['last', [20, 10]],
])(
  'The session with the lowest position decides on the facts about an app-server, attached %s.',
  (_order, positions) => {
    const child = childWith(new PassThrough(), () => undefined);
    const server = appServerOf(child, new ManualClock(), 10);
    for (const at of positions) {
      const rateLimits = { limitId: `at ${at}`, primary: null, secondary: null };
      const subagents = [`subagent ${at}`];
      const saved = { subagents, rateLimits, version: `${at}`, now: { isRetired: false } };
      server.restore(`thread ${at}`, saved, at);
    }
    expect(server.rateLimits?.limitId).toBe('at 10');
    expect(server.save('thread 20').subagents).toEqual(['subagent 20']);
  },
);

test('The app-server keeps no subagent that has ended, and none of a session that has left its thread.', async () => {
  const output = new PassThrough();
  const server = appServerOf(
    childWith(output, () => undefined),
    new ManualClock(),
    0,
  );
  const say = async (method: string, params: object) => {
    output.write(`${JSON.stringify({ method, params })}\n`);
    await nextLoop();
    await nextLoop();
  };
  for (const id of ['a', 'b', 'c'])
    await say('thread/started', { thread: { id, parentThreadId: THREAD } });
  expect(server.save(THREAD).subagents).toEqual(['a', 'b', 'c']);
  await say('thread/closed', { threadId: 'b' });
  expect(server.save(THREAD).subagents).toEqual(['a', 'c']);
  await say('thread/closed', { threadId: THREAD });
  expect(server.save(THREAD).subagents).toEqual([]);
});

test('An approval for an item that is too large to be saved says that arguments are missing.', () => {
  const params = (changes: object[]) => ({
    item: { type: 'fileChange', id: 'f1', status: 'inProgress', changes },
  });
  const before = new Reader();
  before.read('item/started', params([{ path: '/w/a', diff: 'x'.repeat(30_000) }]));
  const after = new Reader();
  after.restore(JSON.parse(JSON.stringify(before.save())), []);
  const request = () =>
    readRequest('item/fileChange/requestApproval', { itemId: 'f1' }, after)?.request;
  expect(request()).toMatchObject({ lacksArguments: true, subject: null });
  const again = new Reader();
  again.restore(JSON.parse(JSON.stringify(after.save())), []);
  expect(again.isForgotten('f1')).toBe(true);
  after.read('item/fileChange/patchUpdated', {
    itemId: 'f1',
    changes: [{ path: '/w/a', diff: 'y' }],
  });
  expect(request()).not.toHaveProperty('lacksArguments');
});
