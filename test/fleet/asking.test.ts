import { expect, test } from 'vitest';
import { anError, expectError } from '../support/an-error.ts';
import { endpoints } from '../../src/api/index.ts';
import { NodeClient } from '../../src/fleet/node-client.ts';
import { namesOf } from '../../src/fleet/names.ts';
import { fill } from '../../src/fleet/servers.ts';
import { kinds } from '../../src/api/events.ts';
import { JoinedEventStream } from '../../src/client/joined-event-stream.ts';
import type { FromServer } from '../../src/client/servers.ts';
import { streamEvents } from '../../src/client/stream.ts';
import { FakeNatsServer } from './fake-nats-server.ts';
import { ManualClock } from '../support/manual-clock.ts';

const names = namesOf('f');
const version = { text: '{"status":200,"headers":{"x-seq":"7"},"body":{"name":"cadre"}}' };
const session = { text: '{"status":200,"headers":{},"body":{"id":"sess_1"}}' };

function setUp() {
  const clock = new ManualClock();
  const nats = new FakeNatsServer(clock);
  let keys = 0;
  const newKey = () => `key${++keys}`;
  const context = { names, user: 'alice', scope: 'admin', clock, newKey } as const;
  const client = () => new NodeClient({ ...context, connection: nats.connection() }, 'n1');
  /** Lets time pass until a call has ended; returns its error, and after how long that came. */
  const failing = async (call: Promise<unknown>) => {
    let error: unknown;
    let isOver = false;
    void call.catch((thrown: unknown) => (error = thrown)).finally(() => (isOver = true));
    await new Promise(setImmediate);
    for (; !isOver; await new Promise(setImmediate)) clock.advance(100);
    return { error, after: clock.monotonic() };
  };
  return { clock, nats, client, failing };
}

const create = { body: { provider: 'acp', cwd: '/' } } as const;

test('A request to a node names node, scope and person in its subject, and path, body and key in its text.', async () => {
  const { nats, client } = setUp();
  nats.answer = () => session;
  await client().call(endpoints.createSession, create, undefined, 'mine');
  await client().call(endpoints.createSession, create);
  nats.answer = () => version;
  const { headers } = await client().ask(endpoints.getVersion, {});
  expect(headers['x-seq']).toBe('7');
  const [first, second, third] = nats.asked.map(({ data }) => JSON.parse(data) as object);
  expect(nats.asked[0]?.subject).toBe('cadre.f.api.n1.admin.alice');
  expect(first).toEqual({ method: 'POST', path: '/v1/sessions', ...create, key: 'mine' });
  expect(second).toEqual({ method: 'POST', path: '/v1/sessions', ...create, key: 'key1' });
  expect(third).toEqual({ method: 'GET', path: '/v1/version' });
});

test('A request to a node that is refused throws the refusal of the server.', async () => {
  const { nats, client } = setUp();
  const text =
    '{"status":409,"headers":{},"body":{"error":"the session is busy","code":"turn_in_progress"}}';
  nats.answer = () => ({ text });
  await expect(client().call(endpoints.getVersion, {})).rejects.toMatchObject({
    code: 'turn_in_progress',
    message: 'the session is busy',
  });
});

test('A request to a node is sent again with the same key to a node that was silent, and answered once it speaks.', async () => {
  const { clock, nats, client } = setUp();
  nats.answer = () => (nats.asked.length < 3 ? 'silent' : session);
  const call = client().call(endpoints.createSession, create);
  await new Promise(setImmediate);
  for (; nats.asked.length < 3; await new Promise(setImmediate)) clock.advance(100);
  expect(await call).toEqual({ id: 'sess_1' });
  expect(new Set(nats.asked.map(({ data }) => data)).size).toBe(1);
});

test('A request to a node that stays silent ends after 30 s, and says that it may have been done.', async () => {
  const { nats, client, failing } = setUp();
  nats.answer = () => 'silent';
  const { error, after } = await failing(client().call(endpoints.createSession, create));
  expect(error).toMatchObject(anError('unreachable', '"n1"'));
  expect(String(error)).toContain('might have been executed');
  expect(after).toBeGreaterThanOrEqual(30_000);
});

test('A request to a node that nobody speaks for ends after 2 s, and says that nothing was done.', async () => {
  const { client, failing } = setUp();
  const { error, after } = await failing(client().call(endpoints.createSession, create));
  expect(error).toMatchObject({ code: 'unreachable' });
  expect(String(error)).toContain('was not executed');
  expect(after).toBeLessThan(5000);
});

test('A request to a node that would be done twice is not sent again.', async () => {
  const { nats, client, failing } = setUp();
  nats.answer = () => 'silent';
  const { error } = await failing(
    client().call(endpoints.deleteToken, { params: { token_id: 'tok_1' } }),
  );
  expect(String(error)).toContain('might have been executed');
  expect(nats.asked).toHaveLength(1);
});

test('A request to a node is not over where a node stops after it was silent: it may have been done before.', async () => {
  const { nats, client, failing } = setUp();
  const stopping = {
    text: '{"status":503,"headers":{},"body":{"error":"stopping","code":"shutting_down"}}',
  };
  nats.answer = () => (nats.asked.length === 1 ? 'silent' : stopping);
  const { error } = await failing(client().call(endpoints.createSession, create));
  expect(String(error)).toContain('might have been executed');
  nats.answer = () => stopping;
  await expectError(client().call(endpoints.createSession, create), 'shutting_down');
});

test('A request to a node that is larger than NATS carries is not sent.', async () => {
  const { nats, client } = setUp();
  nats.maxPayload = 1000;
  const body = { ...create.body, title: 'x'.repeat(1000) };
  await expectError(
    client().call(endpoints.createSession, { body }),
    'payload_too_large',
    'max_payload',
  );
  expect(nats.asked).toEqual([]);
});

test('A request to a node for a list whose answer is too large asks for smaller pages.', async () => {
  const { nats, client } = setUp();
  const tooLarge = {
    text: '{"status":413,"headers":{},"body":{"error":"too long","code":"payload_too_large"}}',
  };
  const limitIn = (data: string) => Number(/limit=(\d+)/.exec(data)?.[1] ?? Infinity);
  nats.answer = (data) =>
    limitIn(data) > 10 ? tooLarge : { text: '{"status":200,"headers":{},"body":[]}' };
  const query = { after_seq: 0, limit: 500 };
  expect(await client().call(endpoints.replayEvents, { query })).toEqual([]);
  expect(nats.asked.map(({ data }) => limitIn(data))).toEqual([500, 125, 32, 8]);
});

test('A request to a node for a stream or a file is refused before it is sent.', async () => {
  const { nats, client } = setUp();
  for (const endpoint of [endpoints.streamEvents, endpoints.backUpStorage])
    await expectError(client().ask(endpoint, {}), 'invalid');
  await expectError(client().open(endpoints.streamEvents), 'invalid');
  expect(nats.asked).toEqual([]);
});

test.for(['null', '[]', '{"status":"200","headers":{},"body":1}', '{"status":200,"body":1}', '7'])(
  'The answer %o of a node says nothing about the request, as no answer does.',
  async (text) => {
    const { nats, client, failing } = setUp();
    nats.answer = () => ({ text });
    const { error } = await failing(client().call(endpoints.getVersion, {}));
    expect(error).toMatchObject(anError('unreachable', 'node "n1" is unreachable'));
  },
);

/** A node whose log has only the event 5: retention has deleted the events up to 4, or all events for a filter. */
function trimmedNode({ nats, client }: ReturnType<typeof setUp>) {
  const event = { ...kinds['session.updated'].example, seq: 5, kind: 'session.updated' };
  nats.answer = (data) => {
    const { path } = JSON.parse(data) as { path: string };
    if (path.startsWith('/v1/version'))
      return { text: '{"status":200,"headers":{"x-seq":"5"},"body":{"epoch":"e"}}' };
    const headers = { 'x-epoch': 'e', 'x-trimmed-seq': '4' };
    const body = path.includes('kind=') ? [] : [event];
    return { text: JSON.stringify({ status: 200, headers, body }) };
  };
  return client();
}

test('The event stream of a node reports the events that retention has deleted.', async () => {
  const given = setUp();
  const client = Object.assign(trimmedNode(given), { clientOf: async () => client });
  const seen: unknown[] = [];
  const onGap = (gap: unknown) => void seen.push(gap);
  for await (const { seq } of streamEvents({ client, clock: given.clock, after: 1, onGap })) {
    seen.push(seq);
    break;
  }
  expect(seen).toEqual([{ requested: 1, trimmed_seq: 4, latest_seq: 4 }, 5]);
});

test('The events that a node adds to the stream of its fleet begin with a notice of those that retention has deleted.', async () => {
  const client = trimmedNode(setUp());
  const items = await fill(client, { node: 'n1', epoch: 'e', after: 1, upTo: 5 });
  expect(items).toMatchObject([
    { notice: { kind: 'gap', node: 'n1', after: 1, up_to: 4 } },
    { event: { seq: 5 } },
  ]);
  expect(await fill(client, { node: 'n1', epoch: 'e', after: 1, upTo: 3 })).toMatchObject([
    { notice: { after: 1, up_to: 3 } },
  ]);
});

test('The stored events of several servers end with a notice if retention has deleted the last ones.', async () => {
  const given = setUp();
  const client = trimmedNode(given);
  const options = { from: 'start', isStoredOnly: true, kinds: ['turn.*'] } as const;
  const address = { name: 'n1', url: client.url, client };
  const { signal } = new AbortController();
  const stream = new JoinedEventStream([address], given.clock, options, signal);
  const found = await Array.fromAsync<FromServer>(stream);
  const text = 'some events between 0 and 4 were removed by retention';
  expect(found).toEqual([{ node: 'n1', notice: { state: 'gap', text } }]);
});
