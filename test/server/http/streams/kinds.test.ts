import { beforeAll, expect, test } from 'vitest';
import { kinds, kindsMatching, type RuntimeEventRecord } from '../../../../src/api/events.ts';
import type { EventDraft } from '../../../../src/core/events/event.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { openRuntime, sharedRuntime, type TestRuntime } from '../../../support/runtime.ts';
import { shared } from '../../../support/shared.ts';
import { SessionStore } from '../../../../src/server/conversations/sessions/store.ts';
import { aSession } from '../../../support/records.ts';
import { completed, scriptedProvider } from '../../../support/scripted-provider.ts';
import { openStore, type TestStore } from '../../../support/store.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { openSession, runTurn } from '../../../support/turns.ts';
import { type Api, apiOf, type Reply, send } from '../../../support/http/request.ts';
import { openStream, type StreamOptions } from '../../../support/http/stream.ts';
import { longEvent, shortEvent } from '../../../support/written-log.ts';

interface Given {
  given: TestRuntime;
  api: Api;
  /** Two sessions with a turn each, or more, in which all sorts of things were said and done. */
  ids: [string, string];
  /** Everything there is, as the replay without a filter has it. */
  all: RuntimeEventRecord[];
}

/** One runtime for all tests of a history. Its time stands still: nothing of it is compacted while they read. */
const on = sharedRuntime({
  clock: new ManualClock(),
  providers: [
    scriptedProvider(({ sink, end }) => {
      void sink.update({ type: 'message', text: 'hello' });
      void sink.update({ type: 'plan', entries: [] });
      void sink.update({ type: 'reasoning', text: 'hm' });
      void sink.update({ type: 'tool', ref: 't', change: { title: 'look' } });
      void sink.update({
        type: 'tool',
        ref: 't',
        change: { output: 'there', status: 'completed' },
      });
      void sink.update({ type: 'usage', usage: { input_tokens: 3 } });
      end(completed);
    }),
  ],
});

let ids: [string, string];
beforeAll(async () => {
  const { client, directory } = on();
  const sessions = [
    await openSession(client, directory),
    await openSession(client, directory),
  ] as const;
  for (const { id } of sessions) await runTurn(client, id, 'go');
  ids = [sessions[0].id, sessions[1].id];
});

/** Tests may add turns to the history, and nothing else. */
async function readHistory(): Promise<Given> {
  const api = apiOf(on());
  const all = recordsOf(await api('GET', '/v1/events'));
  return { given: on(), api, ids, all };
}

const recordsOf = (reply: Reply) => reply.json() as RuntimeEventRecord[];
const seqsOf = (events: readonly RuntimeEventRecord[]) => events.map(({ seq }) => seq);
const query = (kinds: readonly string[], more = '') =>
  `?${kinds.map((kind) => `kind=${kind}`).join('&')}${more}`;

/** The events that match a filter. */
function filtered(
  events: readonly RuntimeEventRecord[],
  kinds: readonly string[],
): RuntimeEventRecord[] {
  const wanted: ReadonlySet<string> = kindsMatching(kinds);
  return events.filter(({ kind }) => wanted.has(kind));
}

/** The seqs a stream gives of a history and of one more turn. */
async function streamed(
  { given, ids }: Given,
  options: StreamOptions,
  kinds: readonly string[],
): Promise<{ got: number[]; expected: number[] }> {
  const stream = await openStream(given, options);
  await runTurn(given.client, ids[0], 'again');
  const everything = recordsOf(await apiOf(given)('GET', '/v1/events'));
  const expected = seqsOf(filtered(everything, kinds));
  const ofScope = options.path?.includes(ids[0])
    ? expected.filter((seq) => everything.find((one) => one.seq === seq)?.session_id === ids[0])
    : expected;
  await stream.untilSeq(ofScope.at(-1) ?? 0);
  stream.close();
  return { got: stream.seqs(), expected: ofScope };
}

const kindFilters = ['turn.*', 'runtime.*', 'plan.updated', 'message.delta'];

test('The filter of a replay gives the matching events of the scope and no others.', async () => {
  const { api, ids, all } = await readHistory();
  const expected = filtered(all, kindFilters);
  expect(expected.length).toBeGreaterThan(0);
  const { text } = await api('GET', `/v1/events${query(kindFilters)}`);
  expect(JSON.parse(text)).toEqual(expected);
  const own = await api('GET', `/v1/sessions/${ids[1]}/events${query(kindFilters)}`);
  expect(recordsOf(own)).toEqual(expected.filter(({ session_id }) => session_id === ids[1]));
});

test('The filter of a stream gives the matching stored events, then the new ones.', async () => {
  const history = await readHistory();
  const path = `/v1/events/stream${query(kindFilters)}`;
  const { got, expected } = await streamed(history, { path }, kindFilters);
  expect(got).toEqual(expected);
});

test('A filter by kind of a session’s stream gives what both let through.', async () => {
  const history = await readHistory();
  const kinds = ['turn.*', 'message.completed'];
  const path = `/v1/sessions/${history.ids[0]}/events/stream${query(kinds)}`;
  const { got, expected } = await streamed(history, { path }, kinds);
  expect(got).toEqual(expected);
  expect(got.length).toBeGreaterThan(6);
});

test('A filter by kind of a kind that never occurs finds nothing, in a replay as in a stream.', async () => {
  const history = await readHistory();
  const { given, api, ids } = history;
  for (const scope of ['/v1/events', `/v1/sessions/${ids[0]}/events`]) {
    const reply = await api('GET', `${scope}?kind=session.failed`);
    expect(reply.json()).toEqual([]);
    expect(reply.headers['x-next-after-seq']).toBe(undefined);
  }
  const silent = await openStream(given, { path: '/v1/events/stream?kind=session.failed' });
  const other = await openStream(given);
  const { turn } = await runTurn(given.client, ids[0], 'again');
  await other.until(({ events }) =>
    events().some(({ kind, turn_id }) => kind === 'turn.completed' && turn_id === turn.turn_id),
  );
  expect(silent.text()).toBe('retry: 1000\n');
  for (const stream of [silent, other]) stream.close();
});

test('A filter by kind keeps after_seq and limit: they count in what it lets through.', async () => {
  const { api, all } = await readHistory();
  const turns = filtered(all, ['turn.*']);
  const [first, second, third, fourth] = seqsOf(turns);
  const path = `/v1/events${query(['turn.*'])}`;
  const page = await api('GET', `${path}&after_seq=${first}&limit=2`);
  expect(seqsOf(recordsOf(page))).toEqual([second, third]);
  expect(page.headers['x-next-after-seq']).toBe(String(third));
  const next = await api('GET', `${path}&after_seq=${third}&limit=1`);
  expect(seqsOf(recordsOf(next))).toEqual([fourth]);
  const between = await api('GET', `${path}&after_seq=${(second ?? 0) - 1}&limit=1`);
  expect(seqsOf(recordsOf(between))).toEqual([second]);
});

test('A filter by kind keeps where a stream begins: by after_seq, by Last-Event-ID, or with what is new.', async () => {
  const { given, all, ids } = await readHistory();
  const turns = seqsOf(filtered(all, ['turn.*']));
  const path = `/v1/events/stream${query(['turn.*'])}`;
  const streams = await Promise.all([
    openStream(given, { path: `${path}&after_seq=${turns[1]}` }),
    openStream(given, { path, headers: { 'last-event-id': String(turns[2]) } }),
    openStream(given, { path: `${path}&after_seq=latest` }),
  ]);
  const { events } = await runTurn(given.client, ids[0], 'again');
  const fresh = seqsOf(filtered(events, ['turn.*']));
  for (const stream of streams) {
    await stream.untilSeq(fresh.at(-1) ?? 0);
    stream.close();
  }
  expect(streams.map((stream) => stream.seqs())).toEqual([
    [...turns.slice(2), ...fresh],
    [...turns.slice(3), ...fresh],
    fresh,
  ]);
});

test.for([
  ['a kind that there is not', 'kind=turn.complete', 'turn.complete'],
  ['a group that there is not', 'kind=turns.*', 'turns.*'],
  ['a group without its star', 'kind=turn', 'turn'],
  ['all of everything', 'kind=*', '*'],
  ['nothing', 'kind=', ''],
  ['a list with commas', 'kind=turn.failed,turn.completed', 'turn.failed,turn.completed'],
  ['other letters', 'kind=Turn.completed', 'Turn.completed'],
  ['a pattern in a pattern', 'kind=t*.completed', 't*.completed'],
  ['one that is wrong of several', 'kind=turn.*&kind=nope', 'nope'],
] as const)(
  'A filter by kind of %s is refused with 400 that names it and what there is.',
  async ([, asked, named]) => {
    const { given, ids } = await readHistory();
    const headers = { authorization: `Bearer ${given.token}` };
    for (const scope of ['/v1/events', `/v1/sessions/${ids[0]}/events`]) {
      for (const path of [`${scope}?${asked}`, `${scope}/stream?${asked}`]) {
        const reply = await send(given.url, { path, headers });
        expect(reply.status).toBe(400);
        const { error, code } = reply.json() as { error: string; code: string };
        expect(code).toBe('invalid');
        expect(error).toMatch(/^query\.kind/);
        expect(error).toContain(`"${named}"`);
        for (const group of ['runtime.*', 'session.*', 'turn.*', 'approval.*'])
          expect(error).toContain(group);
      }
    }
  },
);

/** Runs `check` on a runtime whose log was written before it started. */
async function withLog(
  write: (store: TestStore) => Promise<unknown>,
  check: (given: TestRuntime, api: Api) => Promise<void>,
): Promise<void> {
  await using directory = tempDirectory('kinds');
  {
    await using store = await openStore(directory.path, { durability: 'normal' });
    await write(store);
  }
  const given = await openRuntime(directory.path, { providers: [scriptedProvider()] });
  try {
    await check(given, apiOf(given));
  } finally {
    await given.stop();
  }
}

const { example } = kinds['turn.failed'];
const rare: EventDraft = { kind: 'turn.failed', payload: example };

const session_id = 'sess_long';

/** They lie so far apart that there are many windows to look through. */
const write = async ({ db, log }: TestStore) => {
  const sessions = new SessionStore({ db, log });
  await db.transact((tx) => sessions.createSession(tx, aSession({ id: session_id })));
  for (let thousand = 0; thousand < 50; thousand++)
    await db.transact((tx) => {
      tx.skipSeqs(30_000);
      for (let i = 0; i < 1000; i++) log.append(tx, { ...shortEvent, session_id });
      if (thousand === 48) log.append(tx, { ...rare, session_id });
    });
};
const RARE_SEQ = 49 * 31_000 + 2;
const events = `/v1/sessions/${session_id}/events`;

/** Asks for something else three times, one after the other. */
async function askAside(api: Api): Promise<'aside'> {
  for (let i = 0; i < 3; i++) await api('GET', '/v1/version');
  return 'aside';
}

const at = shared<TestRuntime>('log', (use) => withLog(write, use));

test('A rare kind among 50,000 events of a session is found by a replay, and others are answered meanwhile.', async () => {
  const api = apiOf(at());
  const found = api('GET', `${events}?kind=turn.failed`);
  expect(await Promise.race([found, askAside(api)])).toBe('aside');
  expect(seqsOf(recordsOf(await found))).toEqual([RARE_SEQ]);
});

test('A rare kind among 50,000 events of a session is found by a stream, and others are answered meanwhile.', async () => {
  const opening = openStream(at(), { path: `${events}/stream?kind=turn.failed` });
  const found = opening.then(async (stream) => {
    await stream.untilSeq(RARE_SEQ);
    return stream;
  });
  expect(await Promise.race([found, askAside(apiOf(at()))])).toBe('aside');
  const stream = await found;
  stream.close();
  expect(stream.seqs()).toEqual([RARE_SEQ]);
});

/** Events so far apart that a page of a kind looks at one alone. */
const spread = async ({ db, log }: TestStore, count: number, bytes: number) =>
  db.transact((tx) => {
    for (let i = 0; i < count; i++) {
      tx.skipSeqs(30_000);
      log.append(tx, longEvent(bytes));
    }
  });

/** All of a kind, by the cursor that each replay gives. */
async function paged(api: Api, limit: number): Promise<{ seqs: number[]; replies: Reply[] }> {
  const replies: Reply[] = [];
  const seqs: number[] = [];
  for (let after = '0'; ;) {
    const path = `/v1/events?kind=turn.failed&limit=${limit}&after_seq=${after}`;
    const reply = await api('GET', path);
    replies.push(reply);
    seqs.push(...seqsOf(recordsOf(reply)));
    const next = reply.headers['x-next-after-seq'];
    if (next === undefined) return { seqs, replies };
    expect(Number(next)).toBeGreaterThan(Number(after));
    after = String(next);
  }
}

test('A replay of a rare kind skips other kinds: the cursor of a full page gives the next page, and no event twice.', () =>
  withLog(
    (store) => spread(store, 12, 10),
    async (_given, api) => {
      const { seqs, replies } = await paged(api, 5);
      expect(seqs).toEqual(Array.from({ length: 12 }, (_, i) => (i + 1) * 30_001));
      expect(replies.map((reply) => recordsOf(reply).length)).toEqual([5, 5, 2]);
    },
  ));

// Each page takes one entry at least, also where the pages before it have used up all the room.
test('A replay of a rare kind ends at 8 MiB, also where no page of it has more than one.', () =>
  withLog(
    (store) => spread(store, 45, 250_000),
    async (_given, api) => {
      const { seqs, replies } = await paged(api, 10_000);
      expect(seqs).toHaveLength(45);
      expect(replies).toHaveLength(2);
    },
  ));
