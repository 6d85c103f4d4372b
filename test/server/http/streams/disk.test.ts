import { setImmediate as nextLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../../src/api/events.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { withRuntime } from '../../../support/runtime.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { heldDisk } from '../../../support/memory-store.ts';
import { type Api, apiOf, type Reply } from '../../../support/http/request.ts';
import { openStream, type Stream } from '../../../support/http/stream.ts';

interface Given {
  clock: ManualClock;
  api: Api;
  open: (path: string) => Promise<Stream>;
  disk: ReturnType<typeof heldDisk>;
}

/** The interface over a store whose disk is in the hands of the test. */
async function withHeldDisk(check: (given: Given) => Promise<void>): Promise<void> {
  const disk = heldDisk();
  const clock = new ManualClock();
  await withRuntime(
    async ({ url, token }) => {
      const given = { url, token };
      try {
        await check({
          clock,
          disk,
          api: apiOf(given),
          open: (path) => openStream(given, { path }),
        });
      } finally {
        disk.release();
      }
    },
    { fs: disk.fs, clock, providers: [scriptedProvider()] },
  );
}

/** An answer that is on its way, and whether it has come. */
function pending(asked: Promise<Reply>): { answered: () => boolean; reply: Promise<Reply> } {
  let come = false;
  void asked.then(() => (come = true));
  return { answered: () => come, reply: asked };
}

/** Enough turns of the event loop for a request and its answer on this machine. */
async function settle({ api }: Given): Promise<void> {
  for (let i = 0; i < 3; i++) await api('GET', '/v1/events?after_seq=1000000');
  for (let i = 0; i < 20; i++) await nextLoop();
}

const seqsOf = (reply: Reply) => (reply.json() as RuntimeEventRecord[]).map(({ seq }) => seq);

test('While the disk has not synced, no response shows data that may be lost: of a change, of a reading, of a refusal.', () =>
  withHeldDisk(async (given) => {
    const { api, disk } = given;
    const create = () => api('POST', '/v1/sessions', { body: { provider: 'acp' } });
    const first = (await create()).json() as { id: string };
    disk.hold();
    const path = `/v1/sessions/${first.id}`;
    const send = () =>
      api('POST', `${path}/turns`, { body: { input: { type: 'text', text: 'go' } } });
    const created = pending(create());
    await settle(given);
    const sent = pending(send());
    await settle(given);
    const waiting = [
      created,
      sent,
      pending(api('GET', path)),
      pending(api('GET', '/v1/sessions')),
      pending(send()),
    ];
    await settle(given);
    expect(waiting.map(({ answered }) => answered())).toEqual([false, false, false, false, false]);
    disk.release();
    const [made, taken, read, listed, refused] = await Promise.all(
      waiting.map(({ reply }) => reply),
    );
    expect([made?.status, taken?.status]).toEqual([200, 200]);
    expect(read?.json()).toMatchObject({ status: 'running' });
    expect(listed?.json()).toHaveLength(2);
    expect(refused?.json()).toMatchObject({ code: 'turn_in_progress' });
  }));

test('While the disk has not synced, replay, streams, X-Seq and the ping end at the last seq that is on the disk.', () =>
  withHeldDisk(async (given) => {
    const { api, disk, open, clock } = given;
    const create = () => api('POST', '/v1/sessions', { body: { provider: 'acp' } });
    const { id } = (await create()).json() as { id: string };
    const [whole, own] = [
      await open('/v1/events/stream'),
      await open(`/v1/sessions/${id}/events/stream`),
    ];
    await Promise.all([whole.untilSeq(3), own.untilSeq(3)]);
    disk.hold();
    const later = pending(create());
    await settle(given);
    const replayed = await api('GET', '/v1/events');
    expect([seqsOf(replayed), replayed.headers['x-seq']]).toEqual([[1, 2, 3], '3']);
    const late = await open('/v1/events/stream');
    await late.untilSeq(3);
    clock.advance(10_000);
    for (const stream of [whole, own, late])
      await stream.until(() => stream.text().includes('ping'));
    expect([whole, own, late].map((stream) => stream.seqs())).toEqual([[1, 2, 3], [3], [1, 2, 3]]);
    expect(whole.text()).toMatch(/: ping 3\n$/);
    expect(later.answered()).toBe(false);
    disk.release();
    await later.reply;
    await Promise.all([whole.untilSeq(4), late.untilSeq(4)]);
    expect(own.seqs()).toEqual([3]);
    expect(seqsOf(await api('GET', '/v1/events'))).toEqual([1, 2, 3, 4]);
    for (const stream of [whole, own, late]) stream.close();
  }));
