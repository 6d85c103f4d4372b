import { beforeAll, expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { sharedRuntime, type TestRuntime, withRuntime } from '../../../support/runtime.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { openSession } from '../../../support/turns.ts';
import { send, expectRefusal } from '../../../support/http/request.ts';
import { openStream, type StreamOptions } from '../../../support/http/stream.ts';

/** Runs `check` with ten events in the log: two of the start, eight sessions. */
function withTenEvents(check: (given: TestRuntime) => Promise<void>): Promise<void> {
  return withRuntime(
    async (given) => {
      for (let i = 0; i < 8; i++) await openSession(given.client, given.directory);
      await check(given);
    },
    { providers: [scriptedProvider()] },
  );
}

/** The seqs a stream has given once it has given the last event, which is made after it stands. */
async function seqsFrom(
  given: TestRuntime,
  options: StreamOptions,
): Promise<{ seqs: number[]; last: number }> {
  const stream = await openStream(given, options);
  await openSession(given.client, given.directory);
  const { storage } = await given.client.call(endpoints.getDiagnostics, {});
  await stream.untilSeq(storage.latest_seq);
  stream.close();
  // A gap frame has no id.
  return { seqs: stream.seqs().filter((seq) => seq !== undefined), last: storage.latest_seq };
}

const after = (seq: string): string => `/v1/events/stream?after_seq=${seq}`;

/** It has ten events or more. */
const on = sharedRuntime({ providers: [scriptedProvider()] });
beforeAll(async () => {
  const { client, directory } = on();
  for (let i = 0; i < 8; i++) await openSession(client, directory);
});

test.for([
  ['with neither, at the start', {}, 1],
  ['after_seq=0, at the start', { path: after('0') }, 1],
  ['after_seq, after that event', { path: after('7') }, 8],
  ['after_seq=latest, with what is new', { path: after('latest') }, 'new'],
  ['Last-Event-ID, after that event', { headers: { 'last-event-id': '4' } }, 5],
  ['Last-Event-ID 0, at the start', { headers: { 'last-event-id': '0' } }, 1],
  ['both, by the query', { path: after('8'), headers: { 'last-event-id': '2' } }, 9],
  [
    'after_seq=0 with a header, by the query',
    { path: after('0'), headers: { 'last-event-id': '9' } },
    1,
  ],
  [
    'after_seq=latest with a header, as of a client that comes back by itself, by the header',
    { path: after('latest'), headers: { 'last-event-id': '1' } },
    2,
  ],
  [
    'after_seq with an invalid header, by the query, which alone is looked at',
    { path: after('9'), headers: { 'last-event-id': 'x' } },
    10,
  ],
] as const)('Where a stream begins is given by %s.', async ([, options, first]) => {
  const given = on();
  const { seqs, last } = await seqsFrom(given, options);
  const from = first === 'new' ? last : first;
  expect(seqs).toEqual(Array.from({ length: last - from + 1 }, (_, i) => from + i));
});

test.for([
  'x',
  '-1',
  '1.5',
  '1e3',
  ' ',
  '',
  '0x1',
  '9007199254740992',
  '99999999999999999',
  '1,2',
  'latest',
])('The Last-Event-ID "%s" is refused with 400, in every scope.', async (id) => {
  const { url, token, client, directory } = on();
  const { id: session } = await openSession(client, directory);
  for (const path of ['/v1/events/stream', `/v1/sessions/${session}/events/stream`]) {
    const headers = { authorization: `Bearer ${token}`, 'last-event-id': id };
    const reply = await send(url, { path, headers });
    expectRefusal(reply, 400, 'invalid', expect.stringContaining('is not a sequence number'));
  }
});

test('The greatest Last-Event-ID there can be is taken.', async () => {
  const given = on();
  const stream = await openStream(given, { headers: { 'last-event-id': '9007199254740991' } });
  stream.close();
  expect(stream.headers['content-type']).toMatch(/^text\/event-stream/);
});

test('A cursor beyond the newest event first gets the gap frame, without an id.', () =>
  withTenEvents(async (given) => {
    const stream = await openStream(given, { path: after('5000') });
    await openSession(given.client, given.directory);
    await stream.untilSeq(11);
    stream.close();
    expect(stream.text()).toMatch(
      /^retry: 1000\nevent: stream\.gap\ndata: \{"requested":5000,"trimmed_seq":0,"latest_seq":10\}\n\nid: 11\n/,
    );
  }));
