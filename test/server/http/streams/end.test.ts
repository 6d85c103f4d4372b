import { once } from 'node:events';
import net from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setImmediate as nextLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../../src/api/events.ts';
import { scaled } from '../../../support/patience.ts';
import { testRuntime, withRuntime } from '../../../support/runtime.ts';
import { completed, scriptedProvider } from '../../../support/scripted-provider.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession, send } from '../../../support/turns.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { apiOf } from '../../../support/http/request.ts';
import { openStream } from '../../../support/http/stream.ts';
import { longEvent, writeLog } from '../../../support/written-log.ts';

/** The events that a later server finds in the log. */
async function stored(directory: string): Promise<RuntimeEventRecord[]> {
  return withRuntime(
    async (given) =>
      (await apiOf(given)('GET', '/v1/events?limit=10000')).json() as RuntimeEventRecord[],
    { directory },
  );
}

/** A server that lets turns end for so long before it stops. */
const draining = (ms: number) => ({
  config: { server: { bind_address: '127.0.0.1:0', drain_ms: scaled(ms) } },
});
const kinds = (events: RuntimeEventRecord[]) => events.map(({ kind }) => kind);

test('A graceful stop gives each stream everything up to the last seq, and ends it in order.', async () => {
  const directory = testDirectory();
  const provider = scriptedProvider();
  const given = await testRuntime({ providers: [provider], directory });
  const { client } = given;
  const { id } = await openSession(client, directory);
  const other = await openSession(client, directory);
  await send(client, id, 'go');
  const turn = await provider.nextTurn();
  await turn.sink.update({ type: 'message', text: 'I have be' });
  const whole = await openStream(given);
  const own = await openStream(given, { path: `/v1/sessions/${id}/events/stream` });
  const quiet = await openStream(given, { path: `/v1/sessions/${other.id}/events/stream` });
  await whole.untilSeq(6);
  await given.stop();
  expect(await Promise.all([whole.ended, own.ended, quiet.ended])).toEqual([
    'ended',
    'ended',
    'ended',
  ]);
  const events = (await stored(directory)).filter(({ seq }) => seq <= (whole.seqs().at(-1) ?? 0));
  expect(whole.events()).toEqual(events);
  expect(kinds(whole.events()).slice(-3)).toEqual([
    'runtime.stopping',
    'message.completed',
    'turn.interrupted',
  ]);
  expect(own.events()).toEqual(events.filter(({ session_id }) => session_id === id));
  expect(quiet.events()).toEqual(events.filter(({ session_id }) => session_id === other.id));
  const next = (await stored(directory)).find(({ seq }) => seq > (whole.seqs().at(-1) ?? 0));
  expect(next?.kind).toBe('runtime.started');
});

test('A graceful stop lets a turn that ends in time complete, and interrupts one that does not.', async () => {
  const directory = testDirectory();
  const provider = scriptedProvider();
  const given = await testRuntime({ providers: [provider], ...draining(1500), directory });
  const { client } = given;
  const sessions = [await openSession(client, directory), await openSession(client, directory)];
  for (const { id } of sessions) await send(client, id, 'go');
  const [first] = [await provider.nextTurn(), await provider.nextTurn()];
  const stream = await openStream(given);
  const stopping = given.runtime.stop();
  await stream.until(() => kinds(stream.events()).includes('runtime.stopping'));
  first?.end(completed);
  await stopping;
  // Its last bytes may still be on their way when the server has stopped.
  expect(await stream.ended).toBe('ended');
  const ends = stream.events().filter(({ kind }) => /^turn\.(completed|interrupted)$/.test(kind));
  expect(ends.map(({ kind, session_id }) => [kind, session_id])).toEqual([
    ['turn.completed', first?.session.id],
    ['turn.interrupted', sessions.find(({ id }) => id !== first?.session.id)?.id],
  ]);
  expect(ends[1]?.payload).toMatchObject({ turn: { error: { code: 'runtime_stopping' } } });
});

test('A graceful stop does not wait for a reader that does not read: it is cut after 2 seconds.', async () => {
  const directory = testDirectory();
  const clock = new ManualClock();
  const events = Array.from({ length: 50 }, () => longEvent(200_000));
  await writeLog(directory, events);
  const given = await testRuntime({ clock, directory });
  const slow = await openStream(given, { paused: true });
  const fast = await openStream(given);
  await fast.untilSeq(events.length);
  given.client.close();
  let stopped = false;
  const stopping = given.runtime.stop().then(() => (stopped = true));
  expect(await fast.ended).toBe('ended');
  clock.advance(1999);
  for (let loop = 0; loop < 20; loop++) await nextLoop();
  expect(stopped).toBe(false);
  clock.advance(1);
  await stopping;
  slow.resume();
  expect(await slow.ended).toBe('cut');
});

test('A graceful stop accepts no new connection, and refuses changes on an old one with 503 shutting_down, but not reads.', async () => {
  const directory = testDirectory();
  const provider = scriptedProvider();
  const given = await testRuntime({ providers: [provider], ...draining(60_000), directory });
  const { url, token, client } = given;
  const { id } = await openSession(client, directory);
  await send(client, id, 'go');
  const turn = await provider.nextTurn();
  const stream = await openStream(given);
  const { port, hostname } = new URL(url);
  /** A connection on which a request has begun. */
  const begun = async (line: string) => {
    const socket = net.connect({ host: hostname, port: Number(port) });
    await once(socket, 'connect');
    socket.write(`${line} HTTP/1.1\r\nHost: localhost\r\n`);
    return socket;
  };
  const [poster, reader] = [
    await begun('POST /v1/sessions'),
    await begun(`GET /v1/sessions/${id}`),
  ];
  // Both have reached the server once a request that came after them is answered.
  await apiOf(given)('GET', '/v1/version');
  const stopping = given.runtime.stop();
  await stream.until(() => kinds(stream.events()).includes('runtime.stopping'));
  const rest = `Authorization: Bearer ${token}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
  poster.write(rest);
  reader.write(rest);
  const [posted, read] = await Promise.all([readText(poster), readText(reader)]);
  expect(posted).toMatch(/^HTTP\/1\.1 503 /);
  expect(posted).toContain('"code":"shutting_down"');
  expect(read).toMatch(/^HTTP\/1\.1 200 /);
  await expect(openStream(given)).rejects.toThrow(/ECONNREFUSED/);
  turn.end(completed);
  await stopping;
});

test('A stop that is called twice is one stop.', async () => {
  const directory = testDirectory();
  const given = await testRuntime({ directory });
  given.client.close();
  await Promise.all([given.runtime.stop(), given.runtime.stop()]);
  const found = await stored(directory);
  expect(kinds(found).filter((kind) => kind === 'runtime.stopping')).toHaveLength(1);
});
