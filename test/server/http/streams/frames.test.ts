import { expect, test } from 'vitest';
import { testRuntime } from '../../../support/runtime.ts';
import { completed, scriptedProvider } from '../../../support/scripted-provider.ts';
import { openSession, runTurn, send, withSession } from '../../../support/turns.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { openStream } from '../../../support/http/stream.ts';
import { apiOf, send as ask } from '../../../support/http/request.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { testDirectory } from '../../../support/temp.ts';
import { shortEvent, writeLog } from '../../../support/written-log.ts';

test('A stream is text/event-stream that nobody keeps, with X-Request-Id, the epoch and the seq it began at.', async () => {
  const given = await testRuntime();
  const stream = await openStream(given, { headers: { 'x-request-id': 'mine' } });
  stream.close();
  const version = await apiOf(given)('GET', '/v1/version');
  expect(stream.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-epoch': (version.json() as { epoch: string }).epoch,
    'x-seq': '2',
    'x-request-id': 'mine',
  });
});

test('A stream is `retry: 1000`, then frames of id, event and data, to the byte.', async () => {
  const given = await testRuntime({
    providers: [
      scriptedProvider((turn) => {
        void turn.sink.update({ type: 'message', text: 'first\n\nid: 9\nsecond 💥' });
        turn.end(completed);
      }),
    ],
  });
  const { client, directory } = given;
  const stream = await openStream(given);
  const { id } = await openSession(client, directory, {
    metadata: 'a\nb\r\nc\u2028 “ü” 💥 data: x',
  });
  await runTurn(client, id, 'hello');
  const events = await apiOf(given)('GET', '/v1/events');
  // The replay has the very texts that the stream has, a line each.
  const texts = events.text.slice(1, -1).split(',\n');
  const records = events.json() as { seq: number; kind: string }[];
  await stream.untilSeq(records.at(-1)?.seq ?? 0);
  stream.close();
  const frames = records.map(
    ({ seq, kind }, i) => `id: ${seq}\nevent: ${kind}\ndata: ${texts[i]}\n\n`,
  );
  expect(stream.text()).toBe(`retry: 1000\n${frames.join('')}`);
});

test('A stream has stored events before live ones, in one order.', async () => {
  const directory = testDirectory('frames');
  await writeLog(
    directory,
    Array.from({ length: 600 }, () => shortEvent),
  );
  const given = await testRuntime({ providers: [scriptedProvider()], directory });
  const stream = await openStream(given);
  await openSession(given.client, given.directory);
  await stream.untilSeq(603);
  stream.close();
  expect(stream.seqs()).toEqual(Array.from({ length: 603 }, (_, i) => i + 1));
});

test('A stream is not opened by HEAD, which has the same headers and no body.', async () => {
  const given = await testRuntime();
  const { url, token } = given;
  const stream = await openStream(given);
  const headers = { authorization: `Bearer ${token}` };
  const reply = await ask(url, { method: 'HEAD', path: '/v1/events/stream', headers });
  expect([reply.status, reply.text]).toEqual([200, '']);
  for (const name of ['content-type', 'cache-control', 'x-epoch', 'x-seq'])
    expect(reply.headers[name]).toBe(stream.headers[name]);
  const diagnostics = await apiOf(given)('GET', '/v1/diagnostics');
  expect(diagnostics.json()).toMatchObject({ streams: { followers: 1 } });
  const unknown = { method: 'HEAD', path: '/v1/sessions/nope/events/stream', headers };
  expect((await ask(url, unknown)).status).toBe(404);
  stream.close();
});

test('The keepalive is the comment `: ping <latest seq>` every 10 seconds, not sooner.', async () => {
  const clock = new ManualClock();
  const given = await testRuntime({ clock, providers: [scriptedProvider()] });
  const { client, directory } = given;
  const stream = await openStream(given, { path: '/v1/events/stream?after_seq=2' });
  await stream.until(() => stream.text() !== '');
  clock.advance(9_999);
  clock.advance(1);
  await stream.until(() => stream.text().includes('ping'));
  expect(stream.text()).toBe('retry: 1000\n: ping 2\n');
  await openSession(client, directory);
  await stream.untilSeq(3);
  clock.advance(10_000);
  await stream.until(() => stream.text().endsWith(': ping 3\n'));
  clock.advance(30_000);
  await stream.until(() => stream.text().split('ping').length > 5);
  expect(stream.text().match(/: ping \d+\n/g)).toEqual([
    ': ping 2\n',
    ': ping 3\n',
    ': ping 3\n',
    ': ping 3\n',
    ': ping 3\n',
  ]);
  stream.close();
});

test('The keepalive of a session’s stream has the latest seq of the runtime, so that a quiet one shows where it is.', async () => {
  const clock = new ManualClock();
  const given = await testRuntime({ clock, providers: [scriptedProvider()] });
  const { client, directory, session: quiet } = await withSession(given);
  const stream = await openStream(given, { path: `/v1/sessions/${quiet.id}/events/stream` });
  await stream.untilSeq(3);
  for (let i = 0; i < 5; i++) await openSession(client, directory);
  clock.advance(10_000);
  await stream.until(() => stream.text().endsWith(': ping 8\n'));
  expect(stream.seqs()).toEqual([3]);
  stream.close();
});

test('The keepalive ends with its stream: a server whose readers have left has no timer for them.', async () => {
  const clock = new ManualClock();
  const given = await testRuntime({ clock });
  const before = clock.waiting;
  const streams = await Promise.all(Array.from({ length: 4 }, () => openStream(given)));
  expect(clock.waiting).toBe(before + 4);
  for (const stream of streams) stream.close();
  await expectEventually(() => clock.waiting).toBe(before);
});

test('A client that takes every blank line for the end of an event gets no empty one.', async () => {
  const clock = new ManualClock();
  const given = await testRuntime({ clock, providers: [scriptedProvider()] });
  const { client, directory } = given;
  const stream = await openStream(given);
  for (let i = 0; i < 5; i++) {
    clock.advance(10_000);
    await openSession(client, directory);
  }
  await stream.untilSeq(7);
  clock.advance(10_000);
  await stream.until(() => stream.text().endsWith(': ping 7\n'));
  stream.close();
  const blocks = stream.text().split('\n\n');
  // The last one has not ended.
  expect(blocks.pop()).toBe(': ping 7\n');
  expect(blocks).toHaveLength(stream.events().length);
  for (const block of blocks) expect(block).toMatch(/\ndata: \{.+\}$/);
});

test('A stream is what an answer has promised: an event is there as soon as its cause is answered.', async () => {
  const given = await testRuntime({
    providers: [scriptedProvider((turn) => turn.end(completed))],
  });
  const { client, id } = await withSession(given);
  const { turn_id } = await send(client, id, 'hello');
  const events = (await apiOf(given)('GET', `/v1/sessions/${id}/events`)).json();
  expect(events).toEqual(
    expect.arrayContaining([expect.objectContaining({ kind: 'turn.accepted', turn_id })]),
  );
});
