import { expect, test } from 'vitest';
import { EPOCH_KIND, GAP_KIND } from '../../src/fleet/mirrored.ts';
import type { TestStore } from '../support/memory-store.ts';
import { testStore } from '../support/memory-store.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { noFaults, compareEvents } from '../support/fleet/compare-events.ts';
import { append, hurriedClock, startMirror, wholeLog } from '../support/fleet/mirroring.ts';
import { type BatchOutcome, ScriptedStream, testLog } from './scripted-stream.ts';
import { seeded } from '../campaigns/crash/random.ts';

/** Waits until the stream ends with the newest event of the log. */
async function settled({ db }: TestStore, stream: ScriptedStream, node = 'n1'): Promise<void> {
  await expectEventually(
    () => stream.messages.findLast((message) => message.node === node)?.seq,
  ).toBe(db.durableSeq);
}

function expectWhole(store: TestStore, stream: ScriptedStream): void {
  expect(compareEvents(wholeLog(store, store.db.durableSeq), stream.messages)).toMatchObject(
    noFaults,
  );
}

test('A mirror writes each event once and in order, with links over those that stay.', async () => {
  const { store, stream } = await testLog(3);
  await using _mirror = startMirror(store, stream.of('n1'));
  await append(store, 2, 'message.delta');
  await append(store, 600);
  await settled(store, stream);
  expectWhole(store, stream);
  expect(stream.messages.slice(0, 6).map(({ seq, prev }) => [seq, prev])).toEqual([
    [1, 0],
    [2, 1],
    [3, 2],
    [4, 3],
    [5, 3],
    [6, 3],
  ]);
});

test('A mirror notices by itself that the stream is another one, and copies everything again.', async () => {
  const { store, stream } = await testLog(10);
  let look = () => {};
  const after = (_ms: number, fn: () => void) => {
    look = fn;
    return { [Symbol.dispose]: () => undefined };
  };
  await using _mirror = startMirror(store, stream.of('n1'), {
    clock: { ...hurriedClock(), after },
  });
  await settled(store, stream);
  Object.assign(stream, { id: 'stream_b', messages: [] });
  look();
  await settled(store, stream);
  expectWhole(store, stream);
});

test('A mirror says that the stream takes no more until it takes something.', async () => {
  const { store, stream } = await testLog();
  stream.outcome = () => 'lost';
  await append(store, 3);
  const states: string[] = [];
  await using running = startMirror(store, stream.of('n1'), {
    onState: ({ state }) => states.push(state),
  });
  await expectEventually(() => running.mirror.status.failed).toBeGreaterThan(3);
  expect(states).toEqual(['following', 'unreachable']);
  stream.outcome = () => 'answered';
  await settled(store, stream);
  await expectEventually(() => states).toEqual(['following', 'unreachable', 'following']);
});

test('A mirror continues after the head of the stream, and not after its stored position.', async () => {
  const { store, stream } = await testLog(10);
  {
    await using _mirror = startMirror(store, stream.of('n1'));
    await settled(store, stream);
  }
  stream.setBack(4);
  await append(store, 10);
  await using _mirror = startMirror(store, stream.of('n1'));
  await settled(store, stream);
  expectWhole(store, stream);
});

test.each<[string, BatchOutcome[]]>([
  ['a batch without an answer', ['unanswered']],
  ['a batch that was lost', ['lost']],
  ['a batch that comes later', ['late']],
  ['several of them', ['late', 'unanswered', 'lost', 'late', 'unanswered']],
])('A mirror writes nothing twice after %s.', async (_what, outcomes) => {
  const { store, stream } = await testLog();
  const left = [...outcomes];
  stream.outcome = () => left.shift() ?? 'answered';
  await using running = startMirror(store, stream.of('n1'));
  for (let i = 0; i < 20; i++) {
    await append(store, 2);
    stream.deliverLate();
  }
  await settled(store, stream);
  expectWhole(store, stream);
  expect(running.mirror.status).toMatchObject({ state: 'following', failed: outcomes.length });
});

test('A mirror survives whatever NATS may do to it.', async () => {
  const store = await testStore();
  const random = seeded(5);
  const stream = new ScriptedStream();
  const outcomes: BatchOutcome[] = [
    'answered',
    'answered',
    'answered',
    'unanswered',
    'late',
    'lost',
  ];
  stream.outcome = () => random.pick(outcomes);
  stream.staleBy = () => (random.chance(0.3) ? random.between(1, 5) : 0);
  await using _first = startMirror(store, stream.of('n1'));
  await using _second = startMirror(store, stream.of('n1'));
  for (let i = 0; i < 60; i++) {
    await append(store, random.between(1, 40), random.chance(0.5) ? 'message.delta' : undefined);
    if (random.chance(0.3)) stream.deliverLate();
    if (random.chance(0.1)) stream.setBack(random.between(0, 200));
  }
  stream.outcome = () => 'answered';
  stream.staleBy = () => 0;
  await settled(store, stream);
  expectWhole(store, stream);
  expect(stream.refused).toBeGreaterThan(0);
});

test('A mirror continues from its row if the stream has none of its messages left.', async () => {
  const { store, stream } = await testLog(5);
  {
    await using _mirror = startMirror(store, stream.of('n1'));
    await settled(store, stream);
  }
  stream.trim(5);
  await append(store, 2);
  {
    await using _mirror = startMirror(store, stream.of('n1'));
    await settled(store, stream);
    expect(stream.messages.map(({ seq, prev }) => [seq, prev])).toEqual([
      [6, 5],
      [7, 6],
    ]);
  }
  // Another stream begins with the whole log.
  stream.trim(2);
  stream.id = 'stream_b';
  await using _mirror = startMirror(store, stream.of('n1'));
  await settled(store, stream);
  expect(stream.messages.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test.each<[string, (stream: ScriptedStream) => void]>([
  ['was emptied', (stream) => stream.purge()],
  ['was created again', (stream) => void Object.assign(stream, { id: 'b', messages: [] })],
])(
  'A mirror copies all events into a stream that %s, and reports this with the action until the restart.',
  async (what, harm) => {
    const { store, stream } = await testLog(5);
    {
      await using _mirror = startMirror(store, stream.of('n1'));
      await settled(store, stream);
    }
    harm(stream);
    const notices: (string | null)[] = [];
    {
      await using running = startMirror(store, stream.of('n1'), {
        onState: ({ notice }) => notices.push(notice),
      });
      await settled(store, stream);
      expectWhole(store, stream);
      expect(stream.messages).toHaveLength(5);
      expect(running.mirror.status.notice).toContain(
        `the stream of the fleet ${what}: it had events of this server up to 5`,
      );
      expect(running.mirror.status.notice).toContain('cadre fleet nodes');
    }
    expect(notices).toContainEqual(expect.stringContaining(what));
    await using again = startMirror(store, stream.of('n1'));
    await append(store, 1);
    await settled(store, stream);
    expect(again.mirror.status).toMatchObject({ state: 'following', notice: null });
  },
);

test('A mirror reports once the events that left the log before it came to them.', async () => {
  const { store, stream } = await testLog();
  const { db } = store;
  await append(store, 10);
  const remove = db.prepare('DELETE FROM events WHERE seq <= 4');
  const note = db.prepare("INSERT INTO trimmed (scope, seq) VALUES ('', 4)");
  await db.transact((tx) => {
    remove.run(tx);
    note.run(tx);
  });
  for (let i = 0; i < 2; i++) {
    await using _mirror = startMirror(store, stream.of('n1'));
    await settled(store, stream);
  }
  const [gap, ...events] = stream.messages;
  expect(gap).toMatchObject({ kind: GAP_KIND, text: '{"after":0,"up_to":4}' });
  expect(events.map(({ seq }) => seq)).toEqual([5, 6, 7, 8, 9, 10]);
});

test('A mirror stops, and says why, where the stream has more of its log than there is.', async () => {
  const { store, stream } = await testLog(3);
  await writeAs(stream, store, [{ seq: 9, id: 'evt_other' }]);
  await using running = startMirror(store, stream.of('n1'));
  await running.done;
  expect(running.mirror.status).toMatchObject({
    state: 'diverged',
    detail: expect.stringMatching(
      /but the fleet has event 9: .*: stop this server, back up and restore its database/s,
    ),
  });
});

test('A mirror stops, and says why, where the stream has another event than the log.', async () => {
  const { store, stream } = await testLog(3);
  await writeAs(stream, store, [{ seq: 2, id: 'evt_other' }]);
  await using running = startMirror(store, stream.of('n1'));
  await running.done;
  expect(running.mirror.status).toMatchObject({
    state: 'diverged',
    detail: expect.stringMatching(/copies of one data directory.*cadre fleet nodes replace/),
  });
  expect(stream.messages).toHaveLength(1);
});

test('A copy of a log continues where it parted from the log in the stream.', async () => {
  const { store, stream } = await testLog(6);
  const fork = JSON.stringify([
    { epoch: 'epoch_newer', seq: 5 },
    { epoch: 'epoch_old', seq: 4 },
  ]);
  const put = store.db.prepare("INSERT INTO meta (key, value) VALUES ('forked_from', ?)");
  await store.db.transact((tx) => put.run(tx, fork));
  await writeAs(stream, { db: { epoch: 'epoch_old' } }, [
    { seq: 3, id: 'evt_3' },
    { seq: 8, id: 'evt_8' },
  ]);
  await using _mirror = startMirror(store, stream.of('n1'));
  await settled(store, stream);
  const [, , mark, ...events] = stream.messages;
  expect(mark).toMatchObject({ kind: EPOCH_KIND, epoch: store.db.epoch, seq: 4 });
  expect(JSON.parse(mark?.text ?? '')).toEqual({
    from: { epoch: 'epoch_old', seq: 8 },
    to: { epoch: store.db.epoch, after: 4 },
  });
  expect(events.map(({ seq, prev }) => [seq, prev])).toEqual([
    [5, 4],
    [6, 5],
  ]);
});

test('Any log that is not a copy starts at its first event.', async () => {
  const { store, stream } = await testLog(2);
  await writeAs(stream, { db: { epoch: 'epoch_old' } }, [{ seq: 3, id: 'evt_3' }]);
  await using _mirror = startMirror(store, stream.of('n1'));
  await settled(store, stream);
  expect(stream.messages.map(({ kind, seq }) => [kind, seq])).toEqual([
    ['session.updated', 3],
    [EPOCH_KIND, 0],
    ['session.updated', 1],
    ['session.updated', 2],
  ]);
});

/** Writes events to the stream as another server with the log of a store would. */
async function writeAs(
  stream: ScriptedStream,
  { db: { epoch } }: { db: { epoch: string } },
  events: { seq: number; id: string }[],
): Promise<void> {
  const drafts = events.map((event) => ({
    kind: 'session.updated',
    seq: event.seq,
    text: JSON.stringify(event),
  }));
  await stream.of('n1').publish({ epoch, expected: 0, prev: 0, drafts });
}
