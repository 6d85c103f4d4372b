import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { AgentSink } from '../../../src/providers/provider.ts';
import { type TestRuntime, withRuntime } from '../../support/runtime.ts';
import {
  completed,
  type ScriptedProvider,
  scriptedProvider,
} from '../../support/scripted-provider.ts';
import { openSession, send } from '../../support/turns.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { openStream } from '../../support/http/stream.ts';
import { expectEventually } from '../../support/expect-eventually.ts';

const PIECE = 'x'.repeat(30 * 1024);

/**
 * Says more than the sockets between a server and a reader hold: 10 MB. Each piece is told of twice, as it comes and as
 * a whole: to end one item of them all would take longer than to say them.
 */
async function flood(sink: AgentSink): Promise<void> {
  for (let i = 0; i < 165; i++) {
    const type = i % 2 === 0 ? 'message' : 'reasoning';
    await sink.update({ type, text: `${i} ${PIECE}` });
  }
}

/** One turn that floods the log; answers the last seq. */
async function floodLog(given: TestRuntime, provider: ScriptedProvider): Promise<number> {
  const { client, directory } = given;
  const { id } = await openSession(client, directory);
  const { turn_id } = await send(client, id, 'go');
  const turn = await provider.nextTurn();
  await flood(turn.sink);
  turn.end(completed);
  const status = async () =>
    (await client.call(endpoints.getTurn, { params: { session_id: id, turn_id } })).status;
  await expectEventually(status).toBe('completed');
  const { storage } = await client.call(endpoints.getDiagnostics, {});
  return storage.latest_seq;
}

const lag = async ({ client }: TestRuntime) =>
  (await client.call(endpoints.getDiagnostics, {})).streams;

describe('a reader that does not read', () => {
  test('disturbs no other, shows as lag, and gets everything later.', async () => {
    const provider = scriptedProvider();
    await withRuntime(
      async (given) => {
        const slow = await openStream(given, { paused: true });
        const fast = await openStream(given);
        const last = await floodLog(given, provider);
        await fast.untilSeq(last);
        expect(fast.seqs()).toEqual(Array.from({ length: last }, (_, i) => i + 1));
        expect(slow.seqs().length).toBeLessThan(last / 2);
        const streams = await lag(given);
        expect(streams).toMatchObject({ followers: 2, waiting: 1 });
        expect(streams.max_lag).toBeGreaterThan(100);
        slow.resume();
        await slow.untilSeq(last);
        expect(slow.text()).toBe(fast.text());
        await expectEventually(async () => (await lag(given)).max_lag).toBe(0);
        for (const stream of [slow, fast]) stream.close();
      },
      { providers: [provider] },
    );
  });

  test('may leave in the middle: nothing of it stays.', async () => {
    const provider = scriptedProvider();
    await withRuntime(
      async (given) => {
        const slow = await openStream(given, { paused: true });
        await floodLog(given, provider);
        expect((await lag(given)).followers).toBe(1);
        slow.close();
        await expectEventually(async () => (await lag(given)).followers).toBe(0);
      },
      { providers: [provider] },
    );
  });

  test('gets no ping while it is behind, and one again once it has caught up.', async () => {
    const provider = scriptedProvider();
    const clock = new ManualClock();
    await withRuntime(
      async (given) => {
        const slow = await openStream(given, { paused: true });
        const last = await floodLog(given, provider);
        clock.advance(60_000);
        slow.resume();
        await slow.untilSeq(last);
        expect(slow.text()).not.toContain(': ping');
        await expectEventually(async () => (await lag(given)).waiting).toBe(1);
        clock.advance(10_000);
        await slow.until(() => slow.text().endsWith(`: ping ${last}\n`));
        slow.close();
      },
      { providers: [provider], clock },
    );
  });

  test('is cut after 10 minutes in which it took nothing although there was something.', async () => {
    const provider = scriptedProvider();
    const clock = new ManualClock();
    await withRuntime(
      async (given) => {
        const slow = await openStream(given, { paused: true });
        const idle = await openStream(given, { path: '/v1/events/stream?after_seq=latest' });
        await floodLog(given, provider);
        for (let minute = 0; minute < 11; minute++) clock.advance(60_000);
        try {
          await expectEventually(async () => (await lag(given)).followers).toBe(1);
        } finally {
          for (const stream of [slow, idle]) stream.close();
        }
      },
      { providers: [provider], clock },
    );
  });
});
