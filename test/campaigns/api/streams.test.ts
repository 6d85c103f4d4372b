import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { eventKinds } from '../../../src/api/events.ts';
import { endpoints } from '../../../src/api/index.ts';
import { type TestServer, withServer } from '../../support/server.ts';
import { nodeModules, pythonTool } from './install.ts';
import { type SeveringProxy, severingProxy } from './severing-proxy.ts';

/** So many sessions, each opened and closed, are two events each. */
const SESSIONS = 520;
const WANTED = 1000;
/** So many sessions are made at once; they share the writes to the disk. */
const AT_ONCE = 10;
const CUTS = 20;

/** Events that a client has read. */
interface Reading {
  seqs: number[];
  /** Events that are empty, or have another id or name than their data. */
  faults: unknown[];
}

test('The client eventsource (npm) receives 1,000 events over 20 cut connections once and in order.', () =>
  expectWhole(readWithEventSource));
test('The client httpx-sse (PyPI) receives 1,000 events over 20 cut connections once and in order.', () =>
  expectWhole(readWithHttpx));

/** Half of the events are there before they are read, the others come while they are. */
async function expectWhole(
  read: (proxy: SeveringProxy, token: string) => Promise<Reading>,
): Promise<void> {
  await withServer(async (server) => {
    await makeEvents(server, SESSIONS / 2);
    await using proxy = await severingProxy(server.url, randomPlaces());
    const reading = read(proxy, server.token);
    await Promise.all([reading, makeEvents(server, SESSIONS / 2)]);
    const { seqs, faults } = await reading;
    expect(faults).toEqual([]);
    const query = { kind: ['session.*' as const], limit: WANTED };
    const events = await server.client.call(endpoints.replayEvents, { query });
    expect(seqs).toEqual(events.map(({ seq }) => seq));
    expect(seqs).toHaveLength(WANTED);
    expect(proxy.cuts()).toBe(CUTS);
  });
}

async function makeEvents({ client }: TestServer, sessions: number): Promise<void> {
  const make = async () => {
    const { id } = await client.call(endpoints.createSession, { body: { provider: 'acp' } });
    await client.call(endpoints.closeSession, { params: { session_id: id }, body: {} });
  };
  for (let made = 0; made < sessions; made += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, sessions - made) }, make));
}

/** All of them together are less than the events take. */
function randomPlaces(): number[] {
  const places = Array.from({ length: CUTS }, () => Math.ceil(Math.random() * 20_000));
  console.log(`connections are cut after ${places.join(', ')} bytes`);
  return places;
}

const streamOf = (proxy: SeveringProxy) => `${proxy.url}/v1/events/stream?kind=session.*`;

/** As much of eventsource as is used here. */
interface EventSourceModule {
  EventSource: new (
    url: string,
    init: { fetch: typeof fetch },
  ) => {
    addEventListener(
      kind: string,
      listener: (event: { type: string; data: string; lastEventId: string }) => void,
    ): void;
    close(): void;
  };
}

async function readWithEventSource(proxy: SeveringProxy, token: string): Promise<Reading> {
  const file = pathToFileURL(path.join(nodeModules, 'eventsource/dist/index.js')).href;
  const { EventSource } = (await import(file)) as EventSourceModule;
  const Authorization = `Bearer ${token}`;
  const source = new EventSource(streamOf(proxy), {
    fetch: (input, init) =>
      fetch(input, { ...init, headers: { ...(init?.headers as object), Authorization } }),
  });
  const seqs: number[] = [];
  const faults: unknown[] = [];
  return new Promise((resolve) => {
    for (const kind of [...eventKinds, 'message', 'stream.gap']) {
      source.addEventListener(kind, ({ type, data, lastEventId }) => {
        const record = JSON.parse(data || '{}') as { seq?: number; kind?: string };
        if (String(record.seq) !== lastEventId || record.kind !== type)
          faults.push([type, lastEventId, data]);
        if (seqs.length < WANTED) seqs.push(record.seq ?? -1);
        if (seqs.length < WANTED && faults.length === 0) return;
        source.close();
        resolve({ seqs, faults });
      });
    }
  });
}

async function readWithHttpx(proxy: SeveringProxy, token: string): Promise<Reading> {
  const program = path.join(import.meta.dirname, 'clients/read_events.py');
  const { stdout } = await promisify(execFile)(pythonTool('python'), [program], {
    env: { CADRE_STREAM: streamOf(proxy), CADRE_TOKEN: token, CADRE_WANTED: String(WANTED) },
  });
  return JSON.parse(stdout) as Reading;
}
