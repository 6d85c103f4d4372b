import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../../src/api/events.ts';
import { type Stream, openStream } from '../../../support/http/stream.ts';
import type { Harness } from '../../../support/sessions/harness.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { type Archive, seqsOf } from '../../../support/retention/archive.ts';
import { withArchive, retain } from '../../../support/retention/harness.ts';
import { shared } from '../../../support/shared.ts';

/** Everything that is left of a scope. */
async function replayed({ get }: Harness, scope = '/v1'): Promise<RuntimeEventRecord[]> {
  return (await get<RuntimeEventRecord[]>(`${scope}/events?limit=10000`)).body;
}

/** Opens a stream and reads until it has given a seq; what it gave can be read after that. */
async function readUntil(
  { given }: Harness,
  path: string,
  seq: number,
  headers: Record<string, string> = {},
): Promise<Stream> {
  const stream = await openStream(given, { path, headers });
  await stream.untilSeq(seq);
  stream.close();
  return stream;
}

/** Two sessions of which retention takes the closed one. */
async function twoSessions(archive: Archive) {
  const gone = seqsOf(await archive.fill('gone', { bulk: 400 }));
  const left = seqsOf(await archive.fill('left', { end: 'ready', bulk: 10 }));
  return { gone, left, used: archive.budget.usedBytes };
}

/** Trims the session `gone` only; returns the values that a reader of the gap receives. */
async function letGo(
  harness: Harness,
  { gone, used }: { gone: number[]; used: number },
  kept = 2 / 3,
) {
  retain(harness, { max_bytes: Math.round(used * kept) });
  const trimmed_seq = gone.at(-1) ?? 0;
  const trimmedEvent = await harness.until(
    ({ kind, payload }) => kind === 'storage.trimmed' && payload.trimmed_seq === trimmed_seq,
  );
  return { trimmed_seq, last: trimmedEvent.seq };
}

type Gone = Awaited<ReturnType<typeof twoSessions>> & Awaited<ReturnType<typeof letGo>>;

/** A harness on which that session has gone, for tests that only read. */
const trimmed = shared<{ harness: Harness; gone: Gone }>('trimmed harness', (use) =>
  withArchive(twoSessions, async (harness, written) =>
    use({ harness, gone: { ...written, ...(await letGo(harness, written)) } }),
  ),
);

/** Runs a test that only reads there. */
test('A stream that starts before a gap gets one gap frame without an id, then all remaining events once.', async () => {
  const { harness, gone: written } = trimmed();
  const { trimmed_seq, last } = written;
  const stream = await readUntil(harness, '/v1/events/stream', last);
  const gap = { requested: 0, trimmed_seq, latest_seq: last };
  const frames = stream.text().split('\n\n');
  expect(frames[0]).toBe(`retry: 1000\nevent: stream.gap\ndata: ${JSON.stringify(gap)}`);
  expect(stream.gaps()).toEqual([{ ...gap, after: 0 }]);
  expect(stream.events()).toEqual(await replayed(harness));
  expect(stream.seqs()).toEqual(expect.arrayContaining(written.left));
});

test('The stream reports the gap at the position of after_seq or Last-Event-ID.', async () => {
  const { harness, gone: written } = trimmed();
  const { trimmed_seq, last } = written;
  const below = trimmed_seq - 1;
  const streams = [
    await readUntil(harness, `/v1/events/stream?after_seq=${below}`, last),
    await readUntil(harness, '/v1/events/stream', last, { 'last-event-id': String(below) }),
  ];
  const left = (await replayed(harness)).filter(({ seq }) => seq > below);
  for (const stream of streams) {
    expect(stream.gaps()).toMatchObject([{ requested: below, trimmed_seq }]);
    expect(stream.events()).toEqual(left);
  }
});

test('The stream of a session that lost events reports the gap; a stream of another session does not.', async () => {
  const { harness, gone: written } = trimmed();
  const { trimmed_seq } = written;
  const own = await openStream(harness.given, { path: '/v1/sessions/gone/events/stream' });
  await own.until(({ gaps }) => gaps().length > 0);
  own.close();
  expect(own.gaps()).toMatchObject([{ requested: 0, trimmed_seq, after: 0 }]);
  const path = '/v1/sessions/left/events/stream';
  const whole = await readUntil(harness, path, written.left.at(-1) ?? 0);
  expect(whole.gaps()).toEqual([]);
  expect(whole.seqs()).toEqual(written.left);
});

test('The stream reports the gap with a filter too.', async () => {
  const { harness, gone: written } = trimmed();
  const { trimmed_seq, last } = written;
  const stream = await readUntil(harness, '/v1/events/stream?kind=storage.*', last);
  expect(stream.gaps()).toMatchObject([{ requested: 0, trimmed_seq, after: 0 }]);
  expect(new Set(stream.events().map(({ kind }) => kind))).toEqual(new Set(['storage.trimmed']));
});

test('The stream continues with new events.', () =>
  withArchive(twoSessions, async (harness, written) => {
    const { last } = await letGo(harness, written);
    const stream = await openStream(harness.given, {});
    await stream.untilSeq(last);
    const { id } = await harness.open();
    await stream.until(({ events }) => events().at(-1)?.session_id === id);
    stream.close();
    expect(stream.gaps()).toHaveLength(1);
  }));

test('A stream gets no gap frame if it starts at the trimmed seq, later, or with new events.', () =>
  withArchive(twoSessions, async (harness, written) => {
    const { trimmed_seq, last } = await letGo(harness, written);
    for (const after of [trimmed_seq, trimmed_seq + 1, last - 1]) {
      const stream = await readUntil(harness, `/v1/events/stream?after_seq=${after}`, last);
      expect(stream.gaps()).toEqual([]);
      expect(stream.seqs()[0]).toBeGreaterThan(after);
    }
    const path = '/v1/events/stream?after_seq=latest';
    const stream = await openStream(harness.given, { path });
    await harness.open();
    await stream.until(({ events }) => events().length > 0);
    stream.close();
    expect(stream.gaps()).toEqual([]);
  }));

test('A stream that was open during the removal gets no gap frame.', () =>
  withArchive(twoSessions, async (harness, written) => {
    const stream = await openStream(harness.given, {});
    await stream.untilSeq(written.left.at(-1) ?? 0);
    const { last } = await letGo(harness, written);
    await stream.untilSeq(last);
    stream.close();
    expect(stream.gaps()).toEqual([]);
    expect(stream.seqs()).toEqual(expect.arrayContaining([...written.gone, ...written.left]));
  }));

test('A slow reader that retention overtakes gets the gap after its last event, and then all remaining events.', () =>
  withArchive(
    (archive) => archive.fill('gone', { bulk: 9000 }),
    async (harness, written) => {
      const slow = await openStream(harness.given, { paused: true });
      await harness.startTurn(await harness.open());
      retain(harness, { max_bytes: 1 });
      // Only the turn is left: the pass is over.
      const open = async () => (await harness.post('/v1/sessions', { provider: 'acp' })).status;
      await expectEventually(open).toBe(500);
      slow.resume();
      const left = await replayed(harness);
      await slow.untilSeq(left.at(-1)?.seq ?? 0);
      slow.close();
      const [gap, ...more] = slow.gaps();
      expect(more).toEqual([]);
      expect(gap).toMatchObject({ requested: gap?.after });
      expect(gap?.after).toBeGreaterThan(0);
      expect(gap?.after).toBeLessThan(written.at(-1)?.seq ?? 0);
      const { headers } = await harness.get('/v1/events');
      expect(headers.get('x-trimmed-seq')).toBe(String(gap?.trimmed_seq));
      const received = seqsOf(written).filter((seq) => seq <= (gap?.after ?? 0));
      expect(slow.seqs()).toEqual([...received, ...seqsOf(left)]);
    },
  ));

test('A replay from before a gap has X-Trimmed-Seq, in the scopes that lost events.', async () => {
  const { harness, gone: written } = trimmed();
  const { trimmed_seq } = written;
  const header = async (path: string) => (await harness.get(path)).headers.get('x-trimmed-seq');
  const trimmedEvent = String(trimmed_seq);
  expect(await header('/v1/events')).toBe(trimmedEvent);
  expect(await header('/v1/events?limit=1')).toBe(trimmedEvent);
  expect(await header('/v1/events?kind=turn.*')).toBe(trimmedEvent);
  expect(await header(`/v1/events?after_seq=${trimmed_seq - 1}`)).toBe(trimmedEvent);
  expect(await header('/v1/sessions/gone/events')).toBe(trimmedEvent);
  expect(await header(`/v1/events?after_seq=${trimmed_seq}`)).toBe(null);
  expect(await header(`/v1/sessions/gone/events?after_seq=${trimmed_seq}`)).toBe(null);
  expect(await header('/v1/sessions/left/events')).toBe(null);
  expect(await replayed(harness, '/v1/sessions/gone')).toEqual([]);
  expect(seqsOf(await replayed(harness, '/v1/sessions/left'))).toEqual(written.left);
});
