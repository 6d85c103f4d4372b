import { expect, test } from 'vitest';
import { kinds as described } from '../../src/api/events.ts';
import type { FollowAll, FromServer } from '../../src/client/servers.ts';
import { type FollowedNode, FleetEventStream } from '../../src/fleet/fleet-event-stream.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { append, hurriedClock, startMirror } from '../support/fleet/mirroring.ts';
import { ScriptedStream, testLog } from './scripted-stream.ts';
import type { TestStore } from '../support/memory-store.ts';

function following(
  stream: ScriptedStream,
  options: FollowAll,
  entries: FollowedNode[] = [],
  isFollowed = async (_node: string) => true,
) {
  const stopping = new AbortController();
  const parts = {
    stream: stream.reader(),
    fill: () => Promise.resolve([]),
    clock: hurriedClock(),
    list: async () => entries,
    isFollowed,
  };
  const events = new FleetEventStream(parts, options, stopping.signal);
  const got: FromServer[] = [];
  const done = (async () => {
    for await (const one of events) got.push(one);
  })();
  return { events, got, done, stop: () => stopping.abort() };
}

/** Appends events that are whole: a reader looks at them. */
function appendWhole(
  store: TestStore,
  count: number,
  kind: 'session.updated' | 'message.delta' = 'session.updated',
) {
  return append(store, count, kind, { ...described[kind].example });
}

const summaryOf = (got: readonly FromServer[]) =>
  got.map((one) => ('event' in one ? one.event.seq : one.notice.state));

test('The events of a fleet are filtered by kind, and continue from the cursor.', async () => {
  const { store, stream } = await testLog();
  await using _mirror = startMirror(store, stream.of('n1'));
  await appendWhole(store, 2);
  await appendWhole(store, 2, 'message.delta');
  await expectEventually(() => stream.messages.length).toBe(4);
  const kinds = ['session.*'];
  const first = following(stream, { from: 'start', kinds, isStoredOnly: true });
  await first.done;
  expect(summaryOf(first.got)).toEqual([1, 2]);
  await appendWhole(store, 1);
  await expectEventually(() => stream.messages.length).toBe(5);
  const cursor = first.events.cursor();
  const second = following(stream, { from: { cursor }, kinds, isStoredOnly: true });
  await second.done;
  expect(summaryOf(second.got)).toEqual([5]);
  const latest = following(stream, { from: 'latest', isStoredOnly: true });
  await latest.done;
  expect(latest.got).toEqual([]);
  expect(() => following(stream, { from: { cursor: 'x' } })).toThrow(
    'the event cursor is not from a fleet',
  );
});

test('A reader of a fleet gets a notice for each change of the nodes that are alive.', async () => {
  const { store, stream } = await testLog();
  const entry = (state: FollowedNode['state'], remark: string | null = null): FollowedNode => ({
    remark,
    name: 'n1',
    url: 'fleet',
    state,
    client: null,
    detail: state === 'reachable' ? null : 'n1 is gone',
  });
  const entries = [entry('reachable')];
  const reader = following(stream, { from: 'start' }, entries);
  await expectEventually(() => summaryOf(reader.got)).toEqual(['reachable']);
  entries[0] = entry('unreachable');
  await expectEventually(() => summaryOf(reader.got)).toEqual(['reachable', 'unreachable']);
  await using _mirror = startMirror(store, stream.of('n1'));
  await appendWhole(store, 1);
  await expectEventually(() => summaryOf(reader.got)).toEqual(['reachable', 'unreachable', 1]);
  entries[0] = entry('reachable', 'its events do not come');
  await expectEventually(() => summaryOf(reader.got).slice(3)).toEqual(['reachable', 'gap']);
  // A node without events in the fleet leaves the list with its heartbeat.
  entries.pop();
  await expectEventually(() => summaryOf(reader.got).slice(5)).toEqual(['unreachable']);
  reader.stop();
  await reader.done;
});

test('A reader of the nodes with some labels gets no events of other nodes.', async () => {
  const { store, stream } = await testLog();
  await using _mirror = startMirror(store, stream.of('n1'));
  await appendWhole(store, 1);
  await expectEventually(() => stream.messages.length).toBe(1);
  const isStored = { from: 'start', isStoredOnly: true } as const;
  for (const [node, count] of [
    ['n1', 1],
    ['n2', 0],
  ] as const) {
    const reader = following(stream, isStored, [], async (name) => name === node);
    await reader.done;
    expect(reader.got).toHaveLength(count);
  }
});

test('A reader of stored events gets a notice for nodes whose events the fleet does not get.', async () => {
  const about = { url: 'fleet', state: 'reachable', client: null, detail: null } as const;
  const entries = [
    { ...about, name: 'n1', remark: 'its events do not come' },
    { ...about, name: 'n2', remark: null },
  ];
  const reader = following(new ScriptedStream(), { from: 'start', isStoredOnly: true }, entries);
  await reader.done;
  expect(reader.got).toEqual([
    { node: 'n1', notice: { state: 'gap', text: 'its events do not come' } },
  ]);
});

test('An invalid event of one node becomes a notice, and readers get the events of the others.', async () => {
  const { store, stream } = await testLog();
  const drafts = [{ kind: 'turn.started', seq: 1, text: '{"seq":1}' }];
  await stream.of('n0').publish({ epoch: 'epoch_x', expected: 0, prev: 0, drafts });
  await using _mirror = startMirror(store, stream.of('n1'));
  await appendWhole(store, 1);
  await expectEventually(() => stream.messages.length).toBe(2);
  const reader = following(stream, { from: 'start', isStoredOnly: true });
  await reader.done;
  expect(reader.got).toMatchObject([
    { node: 'n0', notice: { text: expect.stringContaining('event 1 of kind') } },
    { node: 'n1', event: { seq: 1 } },
  ]);
});
