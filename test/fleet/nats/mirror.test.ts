import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { FleetCursor } from '../../../src/fleet/cursor.ts';
import { Refused } from '../../../src/fleet/nats-mirror-stream.ts';
import { namesOf } from '../../../src/fleet/names.ts';
import { NatsMirrorStream } from '../../../src/fleet/nats-mirror-stream.ts';
import { NatsReaderStream } from '../../../src/fleet/nats-reader-stream.ts';
import { type FleetEvent, readFleet } from '../../../src/fleet/reader.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { type TestFleet, withFleet } from '../../support/fleet/cluster.ts';
import { noFaults, compareEvents } from '../../support/fleet/compare-events.ts';
import { append, startMirror, wholeLog } from '../../support/fleet/mirroring.ts';
import { shared } from '../../support/shared.ts';
import { testStore } from '../../support/memory-store.ts';
import { withRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { openStore } from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';

const fleet = shared<TestFleet>('fleet', (use) => withFleet(use));
const names = namesOf('test');

function streamOf(node: string) {
  return new NatsMirrorStream(fleet().connection, names, node);
}

function startReader(node: string, cursor: FleetCursor, follow: boolean) {
  const events: FleetEvent[] = [];
  const stopping = new AbortController();
  const parts = {
    stream: new NatsReaderStream(fleet().connection, names, systemClock, names.eventsOf(node)),
    clock: systemClock,
    cursor,
    fill: async () => {
      throw new Error('nobody answers');
    },
  };
  const done = (async () => {
    for await (const item of readFleet(parts, { follow, signal: stopping.signal }))
      if ('event' in item) events.push(item.event);
  })();
  return {
    events,
    done,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await done;
    },
  };
}

test('A server with [fleet] has all its events in the stream when it has stopped, and continues there when it starts again.', async () => {
  await using directory = tempDirectory();
  for (const round of [1, 2]) {
    const config = { fleet: { url: fleet().urls, name: 'server', fleet: 'test' } };
    await withRuntime(
      async ({ client }) => {
        await expectEventually(
          async () => (await client.call(endpoints.getHealth, {})).fleet?.state,
        ).toBe('member');
        for (let i = 0; i < 5; i++)
          await client.call(endpoints.createSession, {
            body: { provider: 'acp', title: `${round} ${i}` },
          });
      },
      { config, directory: directory.path, providers: [scriptedProvider()] },
    );
    await using store = await openStore(directory.path);
    const latest = store.db.durableSeq;
    await using reader = startReader('server', FleetCursor.start(), false);
    await reader.done;
    expect(reader.events.at(-1)?.seq).toBe(store.entries().at(-1)?.seq);
    expect(compareEvents(wholeLog(store, latest), reader.events)).toMatchObject(noFaults);
  }
});

test('A server with [fleet] without a mirror is a member without events.', async () => {
  const config = { fleet: { url: fleet().urls, name: 'quiet', fleet: 'test', mirror: false } };
  await withRuntime(
    async ({ client }) => {
      await expectEventually(
        async () => (await client.call(endpoints.getHealth, {})).fleet?.state,
      ).toBe('member');
    },
    { config },
  );
  expect(await streamOf('quiet').head()).toBeNull();
});

test('A mirror with JetStream writes batches that are read once and in order, by a cursor and while they come.', async () => {
  const store = await testStore();
  await using _mirror = startMirror(store, streamOf('n1'), { clock: systemClock });
  const cursor = FleetCursor.start();
  await using reader = startReader('n1', cursor, true);
  await append(store, 3);
  await append(store, 700);
  await append(store, 5, 'message.delta');
  await append(store, 1);
  await expectEventually(() => reader.events.at(-1)?.seq).toBe(store.db.durableSeq);
  expect(compareEvents(wholeLog(store, store.db.durableSeq), reader.events)).toMatchObject(
    noFaults,
  );
  await using again = startReader('n1', FleetCursor.parse(cursor.toString()), false);
  await again.done;
  expect(again.events).toEqual([]);
  await using whole = startReader('n1', FleetCursor.start(), false);
  await whole.done;
  expect(whole.events).toEqual(reader.events);
});

test('A mirror with JetStream is refused by the fence if another mirror has written.', async () => {
  const store = await testStore();
  const stream = streamOf('n2');
  await append(store, 3);
  const drafts = [{ kind: 'session.updated', seq: 1, text: '{"seq":1,"id":"evt_1"}' }];
  const batch = { epoch: store.db.epoch, prev: 0, drafts };
  const first = await stream.publish({ ...batch, expected: 0 });
  const refusal = new Refused('the newest message of this node is another one');
  await expect(stream.publish({ ...batch, expected: 0 })).rejects.toThrow(refusal);
  await expect(
    stream.publish({ ...batch, expected: 0, drafts: [...drafts, ...drafts] }),
  ).rejects.toThrow(refusal);
  expect(await stream.head()).toMatchObject({ streamSeq: first, id: 'evt_1', seq: 1, prev: 0 });
  expect(await streamOf('nobody').head()).toBeNull();
  expect(await stream.id()).toBe('test');
});
