import { expect, test } from 'vitest';
import { CadreError, createClient, localServer } from '../../src/client/public/index.ts';
import type { ConnectionState } from '../../src/client/public/index.ts';
import { keptPort } from '../support/kept-port.ts';
import { sharedDemo } from '../support/demo-server.ts';
import { testRuntime } from '../support/runtime.ts';
import { testDirectory } from '../support/temp.ts';
import { wireTo } from '../support/wire.ts';

const demo = sharedDemo();
const connected = () => ({ server: demo(), cadre: createClient(demo()) });

function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

test('A request of the client library is answered with the document of its route, and with nothing where the route has none.', async () => {
  const { cadre } = connected();
  const session = await cadre.request('POST /v1/sessions', { body: { provider: 'acp' } });
  expect(await cadre.request('GET /v1/health')).toHaveProperty('status');
  const params = { session_id: session.id };
  expect(await cadre.request('GET /v1/sessions/{session_id}', { params })).toEqual(session);
  const { team } = await cadre.request('POST /v1/teams', {
    body: { name: 'shop', lead_agent_id: session.id },
  });
  const gone = { params: { team_id: team.id } };
  expect(await cadre.request('DELETE /v1/teams/{team_id}', gone)).toBeUndefined();
  expect(await cadre.request('GET /metrics')).toMatch(/^# /);
});

test('A request of the client library that is refused fails with the code of the interface, the status and the id of the request.', async () => {
  const { server, cadre } = connected();
  const params = { session_id: 'sess_none' };
  const error = await failure(cadre.request('GET /v1/sessions/{session_id}', { params }));
  expect(error).toBeInstanceOf(CadreError);
  expect(error).toMatchObject({
    code: 'not_found',
    status: 404,
    requestId: expect.any(String),
  });
  const stranger = createClient({ url: server.url, token: 'nobody-issued-this-one' });
  const refused = failure(stranger.request('GET /v1/health'));
  expect(await refused).toMatchObject({ code: 'unauthorized', status: 401 });
});

test('A request of the client library that no server answers fails as unreachable, without a status.', async () => {
  const cadre = createClient({ url: 'http://127.0.0.1:1', token: 'x' });
  const error = await failure(cadre.request('GET /v1/health'));
  expect(error).toMatchObject({ code: 'unreachable', status: null });
});

test('A request of the client library that is aborted fails with the reason of its signal.', async () => {
  const server = demo();
  const reason = new Error('enough');
  const signal = AbortSignal.abort(reason);
  expect(await failure(createClient(server).request('GET /v1/health', { signal }))).toBe(reason);
});

test('A request of the client library with an idempotency key is carried out once.', async () => {
  const { cadre } = connected();
  const input = { body: { provider: 'acp' as const }, idempotencyKey: 'library-once' };
  const [one, other] = [
    await cadre.request('POST /v1/sessions', input),
    await cadre.request('POST /v1/sessions', input),
  ];
  expect(other).toEqual(one);
});

test('A list is read page by page to its end.', async () => {
  const { cadre } = connected();
  const made: string[] = [];
  for (let i = 0; i < 3; i++)
    made.unshift((await cadre.request('POST /v1/sessions', { body: { provider: 'acp' } })).id);
  const listed: string[] = [];
  for await (const { id } of cadre.list('GET /v1/sessions', { query: { limit: 2 } }))
    listed.push(id);
  expect(listed.slice(0, 3)).toEqual(made);
  expect(listed.length).toBeGreaterThan(3);
});

test('A route that answers with a stream gives the answer with its body unread.', async () => {
  const server = demo();
  const response = await createClient(server).open('GET /v1/events/stream', {
    query: { after_seq: 'latest' },
  });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  await response.body?.cancel();
});

test('The server of this machine is found by its registration, and its token goes to its own address alone.', async () => {
  const server = demo();
  const env = { CADRE_DATA_ROOT_DIR: server.directory };
  expect(localServer(env)).toEqual({ url: server.url, token: server.token });
  expect(() => localServer({ ...env, CADRE_URL: 'http://127.0.0.1:1' })).toThrow(
    expect.objectContaining({ code: 'unauthorized' }),
  );
  const named = { CADRE_URL: 'http://127.0.0.1:1', CADRE_TOKEN: 'given' };
  expect(localServer(named)).toEqual({ url: 'http://127.0.0.1:1', token: 'given' });
  const unset = { ...env, CADRE_URL: '', CADRE_TOKEN: '' };
  expect(localServer(unset)).toEqual({ url: server.url, token: server.token });
  expect(() => localServer({ ...env, CADRE_URL: 'elsewhere' })).toThrow(
    expect.objectContaining({ code: 'invalid' }),
  );
  expect(() => localServer({ CADRE_DATA_ROOT_DIR: '/nonexistent' })).toThrow(
    expect.objectContaining({ code: 'unreachable' }),
  );
  return Promise.resolve();
});

test('A stream of the client library gives each event of its kinds once and in order over lost connections, and continues after its cursor.', async () => {
  const server = demo();
  await using wire = await wireTo(server.url);
  const cadre = createClient({ ...server, url: wire.url });
  const opened = await cadre.open('GET /v1/events/stream');
  const seq = opened.headers.get('x-seq');
  await opened.body?.cancel();
  const states: ConnectionState[] = [];
  const options = { kinds: ['session.*'] as const, after: Number(seq) };
  const events = cadre.streamEvents({
    ...options,
    onConnection: (state) => void states.push(state),
  });
  const made: string[] = [];
  const create = async () => {
    const { id } = await createClient(server).request('POST /v1/sessions', {
      body: { provider: 'acp' },
    });
    made.push(id);
  };
  await create();
  const seen: (string | null)[] = [];
  for await (const event of events) {
    seen.push(event.session_id);
    if (seen.length === 2) break;
    wire.cut();
    await create();
  }
  expect(seen).toEqual(made);
  expect(states.map(({ lost }) => lost)).toEqual([true, false]);
  await create();
  const later = cadre.streamEvents({ ...options, cursor: events.cursor ?? '' });
  for await (const event of later) {
    expect(event.session_id).toBe(made[2]);
    break;
  }
});

test('A stream of the client library survives a restart of the server on the same address.', async () => {
  const directory = testDirectory();
  const config = { server: { bind_address: `127.0.0.1:${await keptPort()}`, drain_ms: 200 } };
  const first = await testRuntime({ config, directory });
  const cadre = createClient(first);
  const events = cadre.streamEvents({ kinds: ['runtime.started'] });
  const reading = events[Symbol.asyncIterator]();
  expect((await reading.next()).value?.payload).toEqual({ previous_stop: 'none' });
  const next = reading.next();
  await first.stop();
  await testRuntime({ config, directory });
  expect((await next).value?.payload).toEqual({ previous_stop: 'clean' });
  await reading.return(undefined);
});

test('A stream of the client library ends without an error when its signal aborts, and throws what the server refuses.', async () => {
  const { cadre } = connected();
  const abort = new AbortController();
  let count = 0;
  for await (const _ of cadre.streamEvents({ signal: abort.signal })) {
    count++;
    abort.abort();
  }
  expect(count).toBe(1);
  const none = cadre.streamEvents({ sessionId: 'sess_none' })[Symbol.asyncIterator]();
  expect(await failure(none.next())).toMatchObject({ code: 'not_found' });
});

test('A stream of the client library throws unreachable once a lost connection could not be opened for its time.', async () => {
  const cadre = createClient({ url: 'http://127.0.0.1:1', token: 'x' });
  const events = cadre.streamEvents({ reconnectMs: 0 })[Symbol.asyncIterator]();
  expect(await failure(events.next())).toMatchObject({ code: 'unreachable' });
});

test('A stream of the client library refuses an invalid cursor, and the cursor of another log.', async () => {
  const { cadre } = connected();
  const events = cadre.streamEvents({ cursor: 'other:7' })[Symbol.asyncIterator]();
  expect(await failure(events.next())).toMatchObject({ code: 'conflict', status: null });
  expect(() => cadre.streamEvents({ cursor: 'seven' })).toThrow(
    expect.objectContaining({ code: 'invalid' }),
  );
});
