import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../../src/api/events.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { settle } from '../../../support/settle.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { openStream } from '../../../support/http/stream.ts';
import { sharedRuntime, testRuntime } from '../../../support/runtime.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import {
  ended,
  endingsIn,
  eventsOf,
  Gate,
  printed,
  ranTo,
  run,
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

test('Events report the output of a process by stream and offset, with text, before its end.', async () => {
  const given = on();
  using gate = new Gate(given.directory);
  const started = await run(
    given,
    `printf 'one 漢'; ${gate.wait}; printf two >&2; ${gate.wait}; printf three`,
  );
  const stream = await openStream(given, {
    path: `/v1/processes/${started.process_id}/events/stream`,
  });
  const outputs = (count: number) => stream.until((one) => outputIn(one.events()).length >= count);
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
});

test('The events of a process are the same live and in a later replay, once settled.', async () => {
  const given = on();
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
});

test('The end of one of two processes that print at once settles its own events alone.', async () => {
  const given = await testRuntime();
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
});

test('The events of a process continue at a cursor, and can be filtered by kind.', async () => {
  const given = on();
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
});

test('Events of output leave the log a minute after the end of the process; its other events stay.', async () => {
  const clock = new ManualClock();
  const given = await testRuntime({ clock });
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
});
