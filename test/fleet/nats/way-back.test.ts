import fs from 'node:fs';
import path from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { FleetCursor } from '../../../src/fleet/cursor.ts';
import { namesOf } from '../../../src/fleet/names.ts';
import { NatsMirrorStream } from '../../../src/fleet/nats-mirror-stream.ts';
import { NatsReaderStream } from '../../../src/fleet/nats-reader-stream.ts';
import { type FleetEvent, readFleet } from '../../../src/fleet/reader.ts';
import { replaceNode } from '../../../src/fleet/replace-node.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { type TestFleet, withFleet } from '../../support/fleet/cluster.ts';
import { type TestRuntime, withRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { shared } from '../../support/shared.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';

const fleet = shared<TestFleet>('fleet', (use) => withFleet(use));
const names = namesOf('test');

/** Runs the server of a node on a data directory. */
function onNode<T>(
  name: string,
  directory: string,
  work: (given: TestRuntime) => Promise<T>,
): Promise<T> {
  const config = { fleet: { url: fleet().urls, name, fleet: 'test' } };
  return withRuntime(work, { config, directory, providers: [scriptedProvider()] });
}

/** Waits until a server is in a state; resolves with what its fleet has to say about that. */
async function reached({ client }: TestRuntime, state: string): Promise<string | undefined> {
  const found = async () => (await client.call(endpoints.getHealth, {})).fleet;
  await expectEventually(found, 30_000).toMatchObject({ state });
  return (await found())?.detail;
}

/** Opens sessions with these titles as a member, and resolves once the fleet has their events. */
async function titled(given: TestRuntime, node: string, titles: readonly string[]): Promise<void> {
  const { client, directory } = given;
  await reached(given, 'member');
  for (const title of titles) await openSession(client, directory, { title });
  await expectEventually(async () => (await titlesIn(node)).slice(-titles.length)).toEqual(titles);
}

/** The titles of the sessions of a node, as a reader gets them from the fleet. */
async function titlesIn(node: string): Promise<string[]> {
  const events: FleetEvent[] = [];
  const parts = {
    stream: new NatsReaderStream(fleet().connection, names, systemClock, names.eventsOf(node)),
    clock: systemClock,
    cursor: FleetCursor.start(),
    fill: async () => {
      throw new Error('nobody answers');
    },
  };
  const { signal } = new AbortController();
  for await (const item of readFleet(parts, { follow: false, signal }))
    if ('event' in item) events.push(item.event);
  return events
    .map(({ text }) => JSON.parse(text) as { kind: string; payload: { session?: Titled } })
    .filter(({ kind }) => kind === 'session.created')
    .map(({ payload }) => payload.session?.title ?? '');
}

interface Titled {
  title: string;
}

async function newEpochOf(directory: string): Promise<void> {
  const cadre = cadreOn({ directory });
  const copy = path.join(directory, 'copy');
  expect((await cadre(['db', 'backup', copy])).code).toBe(0);
  expect((await cadre(['db', 'restore', copy, '--yes'])).code).toBe(0);
}

test('A node whose data directory was reset is diverged, and continues under its name on the documented way back.', async () => {
  await using live = tempDirectory('node');
  await using early = tempDirectory('node');
  await onNode('reset', live.path, (given) => titled(given, 'reset', ['one']));
  fs.cpSync(live.path, early.path, { recursive: true });
  await onNode('reset', live.path, (given) => titled(given, 'reset', ['two', 'three']));
  await onNode('reset', early.path, async (given) => {
    const detail = await reached(given, 'diverged');
    expect(detail).toContain('back up and restore its database to give the log a new epoch');
  });
  await newEpochOf(early.path);
  await onNode('reset', early.path, async (given) => {
    await titled(given, 'reset', ['four']);
    const { epoch } = await given.client.call(endpoints.getVersion, {});
    const head = await new NatsMirrorStream(fleet().connection, names, 'reset').head();
    expect(head?.epoch).toBe(epoch);
  });
  expect(await titlesIn('reset')).toEqual(['one', 'two', 'three', 'four']);
});

test('A node whose data directory was reset and then wrote other events needs its name freed, too.', async () => {
  await using live = tempDirectory('node');
  await using early = tempDirectory('node');
  await onNode('twice', live.path, (given) => titled(given, 'twice', ['one']));
  fs.cpSync(live.path, early.path, { recursive: true });
  await onNode('twice', live.path, (given) => titled(given, 'twice', ['two']));
  // Outside of the fleet it gives the numbers of those events to other ones, and more.
  await withRuntime(
    async ({ client, directory }) => {
      for (const title of ['x', 'y', 'z']) await openSession(client, directory, { title });
    },
    { directory: early.path, providers: [scriptedProvider()] },
  );
  await onNode('twice', early.path, async (given) => {
    expect(await reached(given, 'diverged')).toContain('cadre fleet nodes replace NAME --yes');
  });
  await newEpochOf(early.path);
  await replaceNode(fleet().connection, names, 'twice');
  await onNode('twice', early.path, (given) => titled(given, 'twice', ['three']));
  expect(await titlesIn('twice')).toEqual(['one', 'two', 'one', 'x', 'y', 'z', 'three']);
});

test('A node whose backup was restored continues under its name from the event of the backup.', async () => {
  await using live = tempDirectory('node');
  const backup = path.join(testDirectory('backup'), 'copy');
  const cadre = cadreOn({ directory: live.path });
  await onNode('restored', live.path, (given) => titled(given, 'restored', ['one']));
  expect((await cadre(['db', 'backup', backup])).code).toBe(0);
  await onNode('restored', live.path, (given) => titled(given, 'restored', ['two']));
  expect((await cadre(['db', 'restore', backup, '--yes'])).code).toBe(0);
  await onNode('restored', live.path, (given) => titled(given, 'restored', ['three']));
  expect(await titlesIn('restored')).toEqual(['one', 'two', 'three']);
});

test('A node whose fleet was emptied copies its events again, and reports it until its next start.', async () => {
  await using live = tempDirectory('node');
  await onNode('emptied', live.path, (given) => titled(given, 'emptied', ['one']));
  const manager = await jetstreamManager(fleet().connection);
  await manager.streams.purge(names.events);
  await onNode('emptied', live.path, async (given) => {
    await titled(given, 'emptied', ['two']);
    expect(await titlesIn('emptied')).toEqual(['one', 'two']);
    const health = await given.client.call(endpoints.getHealth, {});
    expect(health).toMatchObject({
      status: 'degraded',
      fleet: {
        state: 'member',
        detail: expect.stringMatching(/was emptied: .*check with cadre fleet nodes/),
      },
    });
  });
  await onNode('emptied', live.path, async (given) => {
    expect(await reached(given, 'member')).toBeUndefined();
    await titled(given, 'emptied', ['three']);
  });
});
