import { expect, test, onTestFinished } from 'vitest';
import { configSchema } from '../../../../src/core/config/schema.ts';
import { type TestRuntime, testRuntime } from '../../../support/runtime.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { openSession } from '../../../support/turns.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { type Api, apiOf, expectRefusal } from '../../../support/http/request.ts';
import { openStream, type Stream } from '../../../support/http/stream.ts';

interface Given extends TestRuntime {
  api: Api;
  /** Opens a stream, by default of the whole runtime; it is closed with the runtime. */
  open: (path?: string) => Promise<Stream>;
}

/** Starts a runtime with room for three streams. */
async function roomForThree(): Promise<Given> {
  const given = await testRuntime({ config: settings(3), providers: [scriptedProvider()] });
  const open = async (path = '/v1/events/stream') => {
    const stream = await openStream(given, { path });
    onTestFinished(stream.close);
    return stream;
  };
  return { ...given, api: apiOf(given), open };
}

const settings = (max_streams: number) => ({
  server: { bind_address: '127.0.0.1:0', drain_ms: 200, max_streams },
});

const openCount = async ({ api }: Given): Promise<number> => {
  const { streams } = (await api('GET', '/v1/diagnostics')).json() as {
    streams: { followers: number };
  };
  return streams.followers;
};

test('The cap of streams lets so many be open; the next is 429 too_many, which says what to do.', async () => {
  const { api, open } = await roomForThree();
  for (let i = 0; i < 3; i++) await open();
  const refused = await api('GET', '/v1/events/stream');
  expectRefusal(
    refused,
    429,
    'too_many',
    '3 event streams are already open: close some streams, or raise server.max_streams',
  );
});

test('The cap of streams counts the streams of all scopes, with and without a filter.', async () => {
  const given = await roomForThree();
  const { api, open, client, directory } = given;
  const { id } = await openSession(client, directory);
  await open();
  await open(`/v1/sessions/${id}/events/stream`);
  await open('/v1/events/stream?kind=turn.*');
  for (const path of ['/v1/events/stream', `/v1/sessions/${id}/events/stream`])
    expect((await api('GET', path)).status).toBe(429);
});

test('The cap of streams has room again once one has left, and those that are open have noticed nothing.', async () => {
  const given = await roomForThree();
  const { open, client, directory } = given;
  const [leaving, staying] = [await open(), await open(), await open()];
  await expect(open()).rejects.toThrow('429');
  leaving.close();
  await expectEventually(() => openCount(given)).toBe(2);
  const entering = await open();
  await openSession(client, directory);
  for (const stream of [staying, entering]) {
    await stream.untilSeq(3);
    expect(stream.seqs()).toEqual([1, 2, 3]);
  }
});

test('The cap of streams does not count those that were refused.', async () => {
  const given = await roomForThree();
  const { api, open } = given;
  const streams = [await open(), await open(), await open()];
  for (let i = 0; i < 10; i++) expect((await api('GET', '/v1/events/stream')).status).toBe(429);
  for (const path of ['/v1/events/stream?after_seq=x', '/v1/sessions/sess_nope/events/stream'])
    expect([400, 404]).toContain((await api('GET', path)).status);
  for (const stream of streams) stream.close();
  await expectEventually(() => openCount(given)).toBe(0);
  for (let i = 0; i < 3; i++) await open();
});

test('The cap of streams holds for many that come at once: as many get in as there is room.', async () => {
  const { open } = await roomForThree();
  const answers = await Promise.allSettled(Array.from({ length: 12 }, () => open()));
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
});

test('The cap of streams does not apply to replays and other requests.', async () => {
  const { api, open, client, directory } = await roomForThree();
  for (let i = 0; i < 3; i++) await open();
  const { id } = await openSession(client, directory);
  for (const path of ['/v1/events', `/v1/sessions/${id}/events`, '/v1/sessions'])
    expect((await api('GET', path)).status).toBe(200);
});

test('A missing session and an invalid cursor are refused before the cap of streams is checked.', async () => {
  const { api, open } = await roomForThree();
  for (let i = 0; i < 3; i++) await open();
  expect((await api('GET', '/v1/sessions/sess_nope/events/stream')).status).toBe(404);
  const headers = { 'last-event-id': 'x' };
  expect((await api('GET', '/v1/events/stream', { headers })).status).toBe(400);
});

test('The cap of streams may be changed while streams are open: a lower one cuts nobody.', async () => {
  const { runtime, open, client, directory } = await roomForThree();
  const streams = [await open(), await open(), await open()];
  runtime.reload(() => configSchema.parse(settings(1)));
  await expect(open()).rejects.toThrow('429');
  runtime.reload(() => configSchema.parse(settings(4)));
  streams.push(await open());
  await expect(open()).rejects.toThrow('429');
  await openSession(client, directory);
  for (const stream of streams) await stream.untilSeq(3);
});
