import { expect, test } from 'vitest';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { apiOf } from '../../../support/http/request.ts';
import { openStream, type Stream, type StreamOptions } from '../../../support/http/stream.ts';
import { sharedRuntime, type TestRuntime, testRuntime } from '../../../support/runtime.ts';
import { testDirectory } from '../../../support/temp.ts';
import { ended, Gate, kill, printed, ranTo, run } from '../../../support/processes/work.ts';

const on = sharedRuntime();

interface Frame {
  id: number;
  offset: number;
  text: string;
}

/** The pieces of output in what came, and whether it was said to be all. */
function read(stream: Stream): { frames: Frame[]; text: string; isOver: boolean } {
  const frames = [...stream.text().matchAll(/^id: (\d+)\nevent: log\ndata: (.*)\n\n/gm)].map(
    ([, id, data]) => ({ id: Number(id), ...(JSON.parse(data ?? '') as Omit<Frame, 'id'>) }),
  );
  const isOver = stream.text().endsWith('event: end\ndata: {}\n\n');
  return { frames, text: frames.map(({ text }) => text).join(''), isOver };
}

function follow(
  given: TestRuntime,
  { process_id }: { process_id: string },
  query = '',
  more: StreamOptions = {},
): Promise<Stream> {
  return openStream(given, { ...more, path: `/v1/processes/${process_id}/logs/stream${query}` });
}

/** All a stream gives, to its end. */
async function whole(...asked: Parameters<typeof follow>) {
  const stream = await follow(...asked);
  expect(await stream.ended).toBe('ended');
  return read(stream);
}

test('A stream of output sends each piece as it comes, with the next offset as id, and reports the end.', async () => {
  const given = on();
  using gate = new Gate(given.directory);
  const started = await run(
    given,
    `echo one; ${gate.wait}; printf 'two 漢'; ${gate.wait}; echo no >&2`,
  );
  const stream = await follow(given, started);
  await stream.until((one) => read(one).text === 'one\n');
  gate.open();
  await stream.until((one) => read(one).text === 'one\ntwo 漢');
  expect(read(stream).isOver).toBe(false);
  gate.open();
  expect(await stream.ended).toBe('ended');
  expect(read(stream)).toMatchObject({
    frames: [
      { id: 4, offset: 0, text: 'one\n' },
      { id: 11, offset: 4, text: 'two 漢' },
    ],
    isOver: true,
  });
  expect(await whole(given, started, '?stream=stderr')).toMatchObject({
    frames: [{ id: 3, offset: 0, text: 'no\n' }],
    isOver: true,
  });
});

test('A stream of output waits for a queued process, and ends with a process that never starts.', async () => {
  const given = await testRuntime({ config: { processes: { max_concurrent: 1 } } });
  using gate = new Gate(given.directory);
  const first = await run(given, gate.wait);
  const second = await run(given, 'echo late');
  const third = await run(given, 'echo never');
  const streams = await Promise.all([second, third].map((one) => follow(given, one)));
  await kill(given, third);
  gate.open();
  await ended(given, first);
  for (const stream of streams) await stream.ended;
  expect(streams.map((one) => read(one))).toMatchObject([
    { text: 'late\n', isOver: true },
    { frames: [], isOver: true },
  ]);
});

test('A stream of output continues at Last-Event-ID or from_byte, which takes precedence.', async () => {
  const given = on();
  using gate = new Gate(given.directory);
  const steps = Array.from({ length: 6 }, (_, i) => `printf 'part ${i} 🙂'; ${gate.wait}`);
  const started = await run(given, steps.join('; '));
  const stream = await follow(given, started);
  for (let i = 0; i < 6; i++) {
    await stream.until((one) => read(one).text.includes(`part ${i}`));
    gate.open();
  }
  await stream.ended;
  const { frames, text } = read(stream);
  expect(frames).toHaveLength(6);
  for (const { id } of [{ id: 0 }, ...frames]) {
    const rest = Buffer.from(text).subarray(id).toString();
    for (const [query, headers] of [
      ['', { 'last-event-id': String(id) }],
      [`?from_byte=${id}`, {}],
      [`?from_byte=${id}`, { 'last-event-id': '3' }],
    ] as const)
      expect(await whole(given, started, query, { headers })).toMatchObject({
        text: rest,
        isOver: true,
      });
  }
  expect(await whole(given, started, '?from_byte=1000000')).toMatchObject({ frames: [] });
});

test.for(['-1', 'x', '1.5', '9007199254740992'])(
  'A stream of output is refused for the Last-Event-ID %s.',
  async (id) => {
    const given = on();
    const { process_id } = await ranTo(given, 'true');
    const reply = await apiOf(given)('GET', `/v1/processes/${process_id}/logs/stream`, {
      headers: { 'last-event-id': id },
    });
    expect(reply.status).toBe(400);
  },
);

test('A stream that nobody reads delays neither the process nor other readers, and is complete later.', async () => {
  const given = on();
  using gate = new Gate(given.directory);
  const started = await run(given, `${gate.wait}; seq 1 1200000`);
  const slow = await follow(given, started, '', { paused: true });
  const fast = await follow(given, started);
  gate.open();
  const over = await ended(given, started);
  expect(over).toMatchObject({ status: 'completed', stdout_truncated: false });
  expect(over.stdout_bytes).toBeGreaterThan(8_000_000);
  await fast.ended;
  slow.resume();
  await slow.ended;
  for (const stream of [slow, fast]) {
    const { text, isOver } = read(stream);
    expect(isOver).toBe(true);
    expect(text.length).toBe(over.stdout_bytes);
    expect(text.startsWith('1\n2\n') && text.endsWith('\n1200000\n')).toBe(true);
  }
});

test('A stream of output counts against the limit of open streams until it is closed.', async () => {
  const given = await testRuntime({
    config: { server: { bind_address: '127.0.0.1:0', drain_ms: 200, max_streams: 1 } },
  });
  using gate = new Gate(given.directory);
  const started = await run(given, `echo here; ${gate.wait}`);
  await printed(given, started, 'here');
  const stream = await follow(given, started);
  await expect(follow(given, started)).rejects.toThrow('429');
  stream.close();
  await expectEventually(() =>
    follow(given, started).then(
      (one) => one.close(),
      () => 'refused',
    ),
  ).toBeUndefined();
});

test('A stream of output ends when the server stops, and can be continued after the next start.', async () => {
  const place = testDirectory('stop');
  const first = await testRuntime({ directory: place });
  const started = await run(
    first,
    `trap 'echo goodbye; exit' TERM; echo here; while :; do sleep 0.05; done`,
  );
  const stream = await follow(first, started);
  await stream.until((one) => read(one).text === 'here\n');
  await first.stop();
  expect(await stream.ended).toBe('ended');
  const before = read(stream);

  const second = await testRuntime({ directory: place });
  const headers = { 'last-event-id': String(before.frames.at(-1)?.id) };
  const after = await whole(second, started, '', { headers });
  expect(after.isOver).toBe(true);
  expect(before.text + after.text).toBe('here\ngoodbye\n');
});
