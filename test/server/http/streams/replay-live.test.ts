import { setImmediate as nextLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../../src/api/events.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import type { AgentSink } from '../../../../src/agents/provider.ts';
import { type TestRuntime, withRuntime } from '../../../support/runtime.ts';
import {
  completed,
  scriptedProvider,
  type ScriptedTurn,
} from '../../../support/scripted-provider.ts';
import { openSession, send } from '../../../support/turns.ts';
import { openStream, type Stream } from '../../../support/http/stream.ts';
import { apiOf } from '../../../support/http/request.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';

const WRITERS = 20;
const ROUNDS = 40;

/** Says and does a bit of everything, a piece a turn of the event loop. */
async function write(sink: AgentSink, writer: number): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const name = `${writer}-${round}`;
    await sink.update({ type: 'message', text: `word ${name} `, ref: `m${Math.floor(round / 4)}` });
    if (round % 3 === 0) await sink.update({ type: 'tool', ref: name, change: { title: name } });
    if (round % 3 === 1) await sink.update({ type: 'plan', entries: [] });
    await nextLoop();
  }
}

/** All events of a scope, by replay. */
async function replay(given: TestRuntime, path = '/v1/events'): Promise<RuntimeEventRecord[]> {
  const reply = await apiOf(given)('GET', `${path}?limit=10000`);
  return reply.json() as RuntimeEventRecord[];
}

/** Twenty sessions, all at a turn; `during` runs while they write. */
async function withWriters(
  during: (given: TestRuntime, sessions: Session[], written: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const turns: ScriptedTurn[] = [];
  const provider = scriptedProvider((turn) => void turns.push(turn));
  await withRuntime(
    async (given) => {
      const { client, directory } = given;
      const sessions = await Promise.all(
        Array.from({ length: WRITERS }, () => openSession(client, directory)),
      );
      await Promise.all(sessions.map(({ id }) => send(client, id, 'go')));
      await expectEventually(() => turns.length).toBe(WRITERS);
      const writing = Promise.all(turns.map(({ sink }, writer) => write(sink, writer)));
      const written = async () => {
        await writing;
        for (const turn of turns) turn.end(completed);
        const ended = async () => {
          const events = await replay(given);
          return events.filter(({ kind }) => kind === 'turn.completed').length;
        };
        await expectEventually(ended).toBe(WRITERS);
      };
      await during(given, sessions, written);
    },
    { providers: [provider] },
  );
}

test('A stream that replays and then follows misses, repeats and reorders nothing, wherever and whenever it began.', () =>
  withWriters(async (given, _sessions, written) => {
    const readers: { stream: Stream; after: number }[] = [];
    const open = async (after: number, options: Parameters<typeof openStream>[1]) => {
      readers.push({ stream: await openStream(given, options), after });
    };
    await open(0, {});
    for (let i = 0; i < 6; i++) {
      const seen = readers[0]?.stream.seqs().at(-1) ?? 0;
      await open(seen, { path: `/v1/events/stream?after_seq=${seen}` });
      await open(Math.floor(seen / 2), {
        headers: { 'last-event-id': `${Math.floor(seen / 2)}` },
      });
      await nextLoop();
    }
    await open(0, { path: '/v1/events/stream?after_seq=0' });
    await written();
    const events = await replay(given);
    const last = events.at(-1)?.seq ?? 0;
    expect(events.length).toBeGreaterThan(1500);
    for (const { stream, after } of readers) {
      await stream.untilSeq(last);
      expect(stream.events()).toEqual(events.filter(({ seq }) => seq > after));
      stream.close();
    }
  }));

test('A stream that replays and then follows of one session has its events, all of them, and no others.', () =>
  withWriters(async (given, sessions, written) => {
    const early = await Promise.all(
      sessions.map(({ id }) => openStream(given, { path: `/v1/sessions/${id}/events/stream` })),
    );
    await written();
    const all = await replay(given);
    for (const [i, { id }] of sessions.entries()) {
      const own = all.filter(({ session_id }) => session_id === id);
      expect(await replay(given, `/v1/sessions/${id}/events`)).toEqual(own);
      await early[i]?.untilSeq(own.at(-1)?.seq ?? 0);
      expect(early[i]?.events()).toEqual(own);
      early[i]?.close();
    }
  }));

test('A stream that replays and then follows that comes back again and again with its last id reads everything once.', () =>
  withWriters(async (given, _sessions, written) => {
    const seqs: number[] = [];
    let last = Infinity;
    const reading = (async () => {
      let visits = 0;
      for (; (seqs.at(-1) ?? 0) < last; visits++) {
        const headers = { 'last-event-id': String(seqs.at(-1) ?? 0) };
        const stream = await openStream(given, { headers });
        await stream.until(() => stream.seqs().length > 0);
        stream.close();
        seqs.push(...stream.seqs());
      }
      return visits;
    })();
    await written();
    const before = await replay(given);
    last = (before.at(-1)?.seq ?? 0) + 1;
    await openSession(given.client, given.directory);
    expect(await reading).toBeGreaterThan(5);
    const events = await replay(given);
    expect(seqs).toEqual(events.map(({ seq }) => seq));
  }));
