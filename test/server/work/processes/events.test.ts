import { describe, expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../../src/api/events.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { settle } from '../../../../src/client/settle.ts';
import { streamEvents } from '../../../../src/client/stream.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { openStream } from '../../../support/http/stream.ts';
import { sharedRuntime, withRuntime } from '../../../support/runtime.ts';
import { completed, scriptedProvider } from '../../../support/scripted-provider.ts';
import { openSession } from '../../../support/turns.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import {
  ended,
  endingsIn,
  eventsOf,
  Gate,
  printed,
  ranTo,
  run,
  type Server,
} from '../../../support/processes/work.ts';
import { scaled } from '../../../support/patience.ts';

const on = sharedRuntime();

function outputIn(events: readonly RuntimeEventRecord[]) {
  return events
    .filter(({ kind }) => kind === 'process.output')
    .map(
      ({ payload }) => payload as { stream: string; offset: number; bytes: number; text: string },
    );
}

/** The events of a process as they come, to its end. */
async function live({ client }: Server, processId: string): Promise<RuntimeEventRecord[]> {
  const events: RuntimeEventRecord[] = [];
  for await (const event of streamEvents({ client, clock: systemClock, processId })) {
    events.push(event);
    if (endingsIn([event]).length > 0) return events;
  }
  throw new Error('the stream ended');
}

describe('the events of a process', () => {
  test('tell of its output by stream and place, with its text, before its end.', () =>
    on(async (given) => {
      using gate = new Gate(given.directory);
      const started = await run(
        given,
        `printf 'one 漢'; ${gate.wait}; printf two >&2; ${gate.wait}; printf three`,
      );
      const stream = await openStream(given, {
        path: `/v1/processes/${started.process_id}/events/stream`,
      });
      const outputs = (count: number) =>
        stream.until((one) => outputIn(one.events()).length >= count);
      await outputs(1);
      gate.open();
      await outputs(2);
      gate.open();
      await stream.until((one) => endingsIn(one.events()).length > 0);
      expect(outputIn(stream.events())).toEqual([
        { stream: 'stdout', offset: 0, bytes: 7, text: 'one 漢' },
        { stream: 'stderr', offset: 0, bytes: 3, text: 'two' },
        { stream: 'stdout', offset: 7, bytes: 5, text: 'three' },
      ]);
      expect(endingsIn([stream.events().at(-1) as RuntimeEventRecord])).toHaveLength(1);
      stream.close();
    }));

  test('are the same in a reading made live and in one made later, settled.', () =>
    on(async (given) => {
      using gate = new Gate(given.directory);
      const started = await run(given, `for i in 1 2 3; do echo $i; ${gate.wait}; done`);
      const path = `/v1/processes/${started.process_id}/events/stream`;
      const stream = await openStream(given, { path });
      for (const count of [1, 2, 3]) {
        await stream.until((one) => outputIn(one.events()).length >= count);
        gate.open();
      }
      await stream.until((one) => endingsIn(one.events()).length > 0);
      stream.close();
      const then = stream.events();
      expect(outputIn(then).length).toBeGreaterThan(2);
      const later = await eventsOf(given, started);
      expect(settle(later)).toEqual(settle(then));
      expect(settle(then).map(({ kind }) => kind)).toEqual([
        'process.queued',
        'process.started',
        'process.completed',
      ]);
    }));

  test('of two processes that print at once are told apart: the end of one settles its own alone.', () =>
    withRuntime(async (given) => {
      using gate = new Gate(given.directory);
      const waiting = await run(given, `printf here; ${gate.wait}`);
      await printed(given, waiting, 'here');
      const other = await ranTo(given, 'echo other');
      await expectEventually(async () => outputIn(await eventsOf(given, waiting)).length).toBe(1);
      const all = await given.client.call(endpoints.replayEvents, { query: { limit: 10_000 } });
      const left = settle(all).filter(({ kind }) => kind === 'process.output');
      expect(left.map(({ process_id }) => process_id)).toEqual([waiting.process_id]);
      gate.open();
      await ended(given, waiting);
      expect(endingsIn(await eventsOf(given, other))).toHaveLength(1);
    }));

  test('go on where a reader left off, and are filtered by kind.', () =>
    on(async (given) => {
      const over = await ranTo(given, 'echo hi');
      const all = await eventsOf(given, over);
      const params = { process_id: over.process_id };
      for (const [i, { seq }] of all.entries()) {
        const query = { after_seq: seq };
        expect(await given.client.call(endpoints.replayProcessEvents, { params, query })).toEqual(
          all.slice(i + 1),
        );
      }
      const query = { kind: ['process.completed'] };
      expect(await given.client.call(endpoints.replayProcessEvents, { params, query })).toEqual(
        all.slice(-1),
      );
    }));

  test('are no turn of their owner, and leave its answer alone.', () => {
    const provider = scriptedProvider((turn) => turn.end(completed));
    return withRuntime(
      async (given) => {
        const { id: session_id } = await openSession(given.client, given.directory);
        await ranTo(given, 'echo hi', { session_id });
        const session = await given.client.call(endpoints.getSession, { params: { session_id } });
        expect(session).toMatchObject({ status: 'ready', last_turn_id: null });
      },
      { providers: [provider] },
    );
  });

  test('of much output are few and small: the files have it, the log has not.', () =>
    on(async (given) => {
      const started = await run(given, 'seq 1 2000000');
      const events = await live(given, started.process_id);
      const over = await ended(given, started);
      expect(over.stdout_bytes).toBeGreaterThan(14_000_000);
      const outputs = outputIn(events);
      const text = outputs.map((one) => one.text).join('');
      expect(text.length).toBeLessThanOrEqual(256 * 1024);
      const ran = (over.ended_at ?? 0) - (over.started_at ?? 0);
      expect(outputs.length).toBeLessThan(ran / 100 + 3);
      let offset = 0;
      for (const one of outputs) {
        expect(one.offset).toBe(offset);
        expect(one.text.length).toBe(Math.min(one.bytes, 4096));
        offset += one.bytes;
      }
      expect(offset).toBe(over.stdout_bytes);
    }));
});

test('Pieces of output leave the log a minute after the process has ended; what says how stays.', async () => {
  const clock = new ManualClock();
  await withRuntime(
    async (given) => {
      const started = await run(given, 'echo hi; sleep 0.05');
      const params = { process_id: started.process_id };
      // The end of a process takes pauses of the clock: they pass with every look.
      const status = async () => {
        clock.advance(20);
        return (await given.client.call(endpoints.getProcess, { params })).status;
      };
      await expect.poll(status, { interval: 5, timeout: scaled(10_000) }).toBe('completed');
      const before = await eventsOf(given, started);
      expect(outputIn(before)).toHaveLength(1);
      clock.advance(66_000);
      const kinds = async () => {
        clock.advance(5000);
        return (await eventsOf(given, started)).map(({ kind }) => kind);
      };
      await expect
        .poll(kinds, { interval: 5, timeout: scaled(10_000) })
        .not.toContain('process.output');
      expect(await eventsOf(given, started)).toEqual(settle(before));
    },
    { clock },
  );
});
