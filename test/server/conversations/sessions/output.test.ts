import { setImmediate as nextLoop } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { Item } from '../../../../src/api/sessions.ts';
import { settle } from '../../../support/settle.ts';
import { systemIds } from '../../../../src/core/lib/ids.ts';
import { closeStoredItems } from '../../../../src/server/conversations/sessions/items.ts';
import {
  type OutputUpdate,
  TurnOutput,
} from '../../../../src/server/conversations/sessions/output.ts';
import { heldDisk, type TestStore, testStore } from '../../../support/memory-store.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import type { UntypedEvent } from '../../../support/untyped-events.ts';
import { pageOf } from '../../../support/entries.ts';
import { anyText } from '../../../support/any-text.ts';

type Place = { session_id: string; turn_id: string };

interface Given extends TestStore {
  place: Place;
  output: TurnOutput;
  errors: unknown[];
  events: () => UntypedEvent[];
  /** Kind, offset and text of each event. */
  emitted: () => [kind: string, offset: unknown, text: unknown][];
  say: (text: string, ref?: string) => Promise<void> | undefined;
  close: (status?: Parameters<TurnOutput['close']>[1]) => Promise<ReturnType<TurnOutput['close']>>;
  items: () => Item[];
  /** Waits until all writes are on disk, including the text that waited for earlier writes. */
  arrive: () => Promise<void>;
}

/** Opens the output of one turn. */
async function openOutput(
  options: { costBefore?: number; store?: Parameters<typeof testStore>[0] } = {},
): Promise<Given> {
  return outputOn(await testStore(options.store), options.costBefore ?? null);
}

let sessions = 0;

/** The output of the one turn of a new session. */
function outputOn(base: TestStore, costBefore: number | null = null): Given {
  const { db, log, store } = base;
  const session_id = `sess_${++sessions}`;
  const place = { session_id, turn_id: `turn_${sessions}` };
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const onToolEnded = () => undefined;
  const callbacks = { onError, onToolEnded, onUsage: () => undefined };
  const output = new TurnOutput({
    ...base,
    ids: systemIds,
    scope: place,
    costBefore,
    ...callbacks,
  });
  const events = () =>
    pageOf(
      log,
      { name: 'session', id: session_id },
      { after: 0, upTo: Number.MAX_SAFE_INTEGER, limit: 1e6, maxBytes: 1e9 },
    ).entries.map(({ text }) => JSON.parse(text) as UntypedEvent);
  return {
    ...base,
    place,
    output,
    errors,
    events,
    emitted: () => events().map(({ kind, payload }) => [kind, payload.offset, payload.text]),
    say: (text, ref) =>
      output.accept({ type: 'message', text, ...(ref === undefined ? {} : { ref }) }),
    close: (status = 'completed') => db.transact((tx) => output.close(tx, status)),
    items: () => db.peek((rx) => store.itemsOf(rx, place.turn_id)),
    async arrive() {
      for (let writes = 0; writes < 2; writes++) {
        await db.transact(() => undefined);
        await nextLoop();
      }
    },
  };
}

test('The first delta of an item is written at once.', async () => {
  const { say, emitted } = await openOutput();
  void say('Hello');
  expect(emitted()).toEqual([['message.delta', 0, 'Hello']]);
});

test('Later text is joined during an earlier write.', async () => {
  const { say, emitted, arrive } = await openOutput();
  for (const text of ['a', 'b', 'c', 'd']) void say(text);
  expect(emitted()).toHaveLength(1);
  await arrive();
  expect(emitted()).toEqual([
    ['message.delta', 0, 'a'],
    ['message.delta', 1, 'bcd'],
  ]);
  await arrive();
  expect(emitted()).toHaveLength(2);
  void say('e');
  expect(emitted().at(-1)).toEqual(['message.delta', 4, 'e']);
});

test('Joined text is written in the transaction of an approval that follows it.', async () => {
  const { say, emitted, output, db } = await openOutput();
  void say('a');
  void say('b');
  expect(emitted()).toHaveLength(1);
  const stored = db.transact((tx) => output.storeText(tx));
  expect(emitted()).toEqual([
    ['message.delta', 0, 'a'],
    ['message.delta', 1, 'b'],
  ]);
  await stored;
});

test('An output is broken if the transaction of an approval is lost with its text.', async () => {
  const { say, output, db, errors } = await openOutput();
  void say('a');
  void say('b');
  const lost = db.transact((tx) => {
    output.storeText(tx);
    throw new Error('no approval');
  });
  await expect(lost).rejects.toThrow('no approval');
  expect([output.broken, errors.length]).toEqual([true, 1]);
});

test('Joined text is written once it has 8 KiB.', async () => {
  const { say, emitted } = await openOutput();
  void say('a');
  void say('€'.repeat(2730));
  expect(emitted()).toHaveLength(1);
  void say('bc');
  expect(emitted().at(-1)).toEqual(['message.delta', 1, `${'€'.repeat(2730)}bc`]);
});

test('An empty text is not written and starts no item.', async () => {
  const { say, emitted } = await openOutput();
  void say('');
  expect(emitted()).toEqual([]);
});

test('A text with another ref or of another kind is another item, and the former item is closed first.', async () => {
  const { say, emitted, output, items } = await openOutput();
  void say('one', 'a');
  void say(' more', 'a');
  void say('two', 'b');
  void output.accept({ type: 'reasoning', text: 'hm' });
  void say('three', 'b');
  expect(emitted()).toEqual([
    ['message.delta', 0, 'one'],
    ['message.delta', 3, ' more'],
    ['message.completed', 0, 'one more'],
    ['message.delta', 0, 'two'],
    ['message.completed', 0, 'two'],
    ['reasoning.delta', 0, 'hm'],
    ['reasoning.completed', 0, 'hm'],
    ['message.delta', 0, 'three'],
  ]);
  expect(items().map(({ status }) => status)).toEqual([
    'completed',
    'completed',
    'completed',
    'open',
  ]);
});

test('A text without a ref continues the current item.', async () => {
  const { say, emitted, arrive } = await openOutput();
  void say('one', 'a');
  void say(' more');
  void say(' and more', 'a');
  await arrive();
  expect(emitted().map(([, , text]) => text)).toEqual(['one', ' more and more']);
});

test.for([
  {
    what: 'a tool',
    update: { type: 'tool', ref: 't', change: { title: 'look' } },
    kinds: ['message.completed', 'tool.started'],
  },
  { what: 'a plan', update: { type: 'plan', entries: [] }, kinds: ['plan.updated'] },
  {
    what: 'usage',
    update: { type: 'usage', usage: { input_tokens: 1 } },
    kinds: ['usage.updated'],
  },
] as const)(
  'Waiting text is written before $what, so that the log keeps the order of the agent.',
  async ({ update, kinds }) => {
    const { say, emitted, output, arrive } = await openOutput();
    void say('a');
    void say('b');
    void output.accept(update as unknown as OutputUpdate);
    expect(emitted().map(([kind]) => kind)).toEqual(['message.delta', 'message.delta', ...kinds]);
    expect(emitted()[1]?.[2]).toBe('b');
    await arrive();
    expect(emitted()).toHaveLength(2 + kinds.length);
  },
);

test('A character in two halves is not split, however late its second half comes.', async () => {
  const { say, emitted, arrive, close } = await openOutput();
  const [high = '', low = ''] = '💥';
  expect(high + low).toBe('💥');
  const [first, second] = ['💥'.slice(0, 1), '💥'.slice(1)];
  void say(`a${first}`);
  expect(emitted()).toEqual([['message.delta', 0, 'a']]);
  await arrive();
  void say(`${second}b${first}`);
  await arrive();
  expect(emitted().slice(1)).toEqual([['message.delta', 1, '💥b']]);
  void say(second);
  await close();
  expect(emitted().slice(2)).toEqual([
    ['message.delta', 6, '💥'],
    ['message.completed', 0, 'a💥b💥'],
  ]);
});

test('A half of a character that is never completed is part of the text.', async () => {
  const { say, emitted, close, items } = await openOutput();
  void say('a\ud83d');
  expect(await close()).toMatchObject({ text: 'a\ud83d' });
  expect(emitted().at(-1)).toEqual(['message.completed', 0, 'a\ud83d']);
  expect(items()[0]?.text).toBe('a\ud83d');
});

test('A long text is several deltas, each within the limit of a payload.', async () => {
  const { say, events, close } = await openOutput();
  const text = '💥'.repeat(50_000) + '\u0001'.repeat(100_000);
  void say(text);
  await close();
  const deltas = events().filter(({ kind }) => kind === 'message.delta');
  expect(deltas.length).toBeGreaterThan(5);
  expect(deltas.map(({ payload }) => payload.text).join('')).toBe(text);
  for (const { payload } of deltas) {
    expect(payload).not.toHaveProperty('truncated');
    expect((payload.text as string).isWellFormed()).toBe(true);
  }
});

test('Offsets of deltas are bytes that add up to the whole text, whatever its pieces.', async () => {
  const piece = fc.oneof(
    anyText({ maxLength: 12 }),
    fc.constantFrom('💥'.slice(0, 1), '💥'.slice(1), '€', '\n', 'word '),
    fc.integer({ min: 0, max: 9000 }).map((length) => 'x'.repeat(length)),
  );
  const step = fc.record({
    text: piece,
    ref: fc.constantFrom('a', 'b', undefined),
    pauses: fc.boolean(),
  });
  const base = await testStore();
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const given = outputOn(base);
      const said: string[] = [];
      let current: string | undefined;
      for (const { text, ref, pauses } of steps) {
        void given.output.accept({ type: 'message', text, ...(ref ? { ref } : {}) });
        if (text !== '') {
          const goes =
            said.length > 0 && (ref === undefined || current === undefined || ref === current);
          if (goes) said.push((said.pop() ?? '') + text);
          else {
            said.push(text);
            current = ref;
          }
        }
        if (pauses) await nextLoop();
      }
      const left = await given.close();
      const events = given.events();
      const completed = events.filter(({ kind }) => kind === 'message.completed');
      expect(completed.map(({ payload }) => payload.text)).toEqual(said);
      expect(left.text).toBe(said.at(-1) ?? null);
      for (const { payload } of completed) {
        let offset = 0;
        let text = '';
        for (const delta of events) {
          if (delta.kind !== 'message.delta' || delta.payload.item_id !== payload.item_id) continue;
          expect(delta.payload.offset).toBe(offset);
          offset += Buffer.byteLength(delta.payload.text as string);
          text += delta.payload.text as string;
        }
        // Only half a character that never became whole is left to the closing event.
        expect((payload.text as string).startsWith(text)).toBe(true);
        expect((payload.text as string).length - text.length).toBeLessThanOrEqual(1);
      }
      expect(settle(events).map(({ kind }) => kind)).toEqual(said.map(() => 'message.completed'));
      runs++;
    }),
    { numRuns: 60 },
  );
  expect(runs).toBe(60);
});

test('A tool starts with its first update, reports only changes, and ends with its whole output.', async () => {
  const { output, events, items } = await openOutput();
  const updateTool = (change: object) =>
    void output.accept({ type: 'tool', ref: 'call-1', change });
  updateTool({ title: 'run ls', kind: 'execute', input: { command: 'ls' } });
  updateTool({ title: 'run ls' });
  updateTool({ status: 'running' });
  updateTool({ output: 'one\n' });
  updateTool({ output: 'one\ntwü\n' });
  updateTool({ output: 'one\ntwü\n' });
  updateTool({ output: 'one\ntwü\nthree\n' });
  updateTool({ output: 'new' });
  updateTool({ status: 'completed', output: 'new and whole' });
  const tool = {
    call_ref: 'call-1',
    title: 'run ls',
    kind: 'execute',
    input: { command: 'ls' },
  };
  const [item] = items();
  const item_id = item?.item_id;
  expect(events().map(({ kind, payload }) => [kind, payload])).toEqual([
    ['tool.started', { item_id, offset: 0, tool, status: 'pending' }],
    ['tool.updated', { item_id, offset: 0, text: '', tool, status: 'running' }],
    ['tool.updated', { item_id, offset: 0, text: 'one\n', tool, status: 'running' }],
    ['tool.updated', { item_id, offset: 4, text: 'twü\n', tool, status: 'running' }],
    ['tool.updated', { item_id, offset: 9, text: 'three\n', tool, status: 'running' }],
    ['tool.updated', { item_id, offset: 0, text: 'new', tool, status: 'running' }],
    ['tool.completed', { item_id, offset: 0, status: 'completed', text: 'new and whole', tool }],
  ]);
  expect(item).toMatchObject({
    kind: 'tool',
    status: 'completed',
    text: 'new and whole',
    tool,
  });
});

test('A tool whose first update is its last one starts and ends in one transaction.', async () => {
  const { output, emitted } = await openOutput();
  void output.accept({
    type: 'tool',
    ref: 't',
    change: { title: 'x', status: 'failed', output: 'no' },
  });
  expect(emitted().map(([kind]) => kind)).toEqual(['tool.started', 'tool.completed']);
});

test('A tool that has ended ignores later updates.', async () => {
  const { output, items } = await openOutput();
  for (let i = 0; i < 2; i++) {
    void output.accept({ type: 'tool', ref: 't', change: { status: 'completed' } });
  }
  expect(items()).toHaveLength(1);
});

test('Several tools run concurrently, and a message between them closes none.', async () => {
  const { output, say, items, close } = await openOutput();
  void output.accept({ type: 'tool', ref: 'a', change: { status: 'running' } });
  void output.accept({ type: 'tool', ref: 'b', change: { status: 'running' } });
  void say('meanwhile');
  void output.accept({ type: 'tool', ref: 'b', change: { status: 'completed' } });
  expect(items().map(({ kind, status }) => `${kind} ${status}`)).toEqual([
    'tool open',
    'tool completed',
    'message open',
  ]);
  await close('interrupted');
  expect(items().map(({ kind, status }) => `${kind} ${status}`)).toEqual([
    'tool interrupted',
    'tool completed',
    'message interrupted',
  ]);
});

test('A very long output is cut in the events, and whole in the item.', async () => {
  const { output, events, items } = await openOutput();
  const text = 'x'.repeat(400_000);
  void output.accept({ type: 'tool', ref: 't', change: { status: 'completed', output: text } });
  expect(events().at(-1)?.payload).toMatchObject({
    truncated: true,
    total_bytes: 400_000,
    text: 'x'.repeat(64 * 1024),
  });
  expect(items()[0]?.text).toBe(text);
});

test('Usage reports are merged: a field that an update omits stays.', async () => {
  const { output, events, close } = await openOutput();
  void output.accept({ type: 'usage', usage: { context_tokens: 10, context_window: 100 } });
  void output.accept({ type: 'usage', usage: { context_tokens: 20 } });
  expect(events().at(-1)?.payload.usage).toMatchObject({
    context_tokens: 20,
    context_window: 100,
    input_tokens: null,
  });
  expect((await close()).usage).toMatchObject({ context_tokens: 20, context_window: 100 });
});

test('The cost of a turn is the difference of the sums that its agent reports.', async () => {
  const { output, events } = await openOutput({ costBefore: 1 });
  void output.accept({ type: 'usage', usage: { cost_usd: 1.5 } });
  expect(events().at(-1)?.payload.usage).toMatchObject({ cost_usd: 0.5 });
  void output.accept({ type: 'usage', usage: { cost_usd: 0.5 } });
  expect(events().at(-1)?.payload.usage).toMatchObject({ cost_usd: 0 });
});

test('The usage of a turn without a report is null.', async () => {
  const { say, close } = await openOutput();
  void say('x');
  expect(await close()).toEqual({ text: 'x', usage: null });
});

test('Closing writes waiting text, closes all open items with the given status, and settles them.', async () => {
  const { say, output, events, items, close, clock, log } = await openOutput();
  void output.accept({ type: 'tool', ref: 't', change: { title: 'x', output: 'so far' } });
  void say('a');
  void say('b');
  expect(await close('failed')).toEqual({ text: 'ab', usage: null });
  expect(
    events()
      .slice(-3)
      .map(({ kind, payload }) => [kind, payload.status, payload.text]),
  ).toEqual([
    ['message.delta', undefined, 'b'],
    ['message.completed', 'failed', 'ab'],
    ['tool.completed', 'failed', 'so far'],
  ]);
  expect(items().map(({ status, completed_at }) => [status, completed_at])).toEqual([
    ['failed', clock.now()],
    ['failed', clock.now()],
  ]);
  // Settled: the deltas leave the log, everything else stays.
  const before = settle(events());
  clock.advance(60_000);
  await log.compact();
  expect(events()).toEqual(before);
});

test('Output after closing is not written.', async () => {
  const { say, output, events, close, arrive } = await openOutput();
  void say('a');
  await close();
  const before = events().length;
  void say('late');
  void output.accept({ type: 'tool', ref: 't', change: {} });
  await arrive();
  expect(events()).toHaveLength(before);
});

test('Closing returns the last message, not the last reasoning.', async () => {
  const { say, output, close } = await openOutput();
  void say('the answer');
  void output.accept({ type: 'reasoning', text: 'afterthought' });
  expect((await close()).text).toBe('the answer');
});

test('A fast agent is held back after 32 pending writes, and continues when there is room.', async () => {
  const disk = heldDisk();
  const { output, db } = await openOutput({ store: { fs: disk.fs, durability: 'full' } });
  disk.hold();
  const plan = { type: 'plan', entries: [] } as const;
  const answers = Array.from({ length: 31 }, () => output.accept({ ...plan, entries: [] }));
  expect(answers.every((answer) => answer === undefined)).toBe(true);
  const held = output.accept({ ...plan, entries: [] });
  expect(held).toBeInstanceOf(Promise);
  let free = false;
  void held?.then(() => (free = true));
  for (let i = 0; i < 10; i++) await nextLoop();
  expect(free).toBe(false);
  disk.release();
  await held;
  await db.transact(() => undefined);
  expect(output.accept({ ...plan, entries: [] })).toBeUndefined();
});

test('An agent that is held back continues when the turn ends.', async () => {
  const disk = heldDisk();
  const { output, db } = await openOutput({ store: { fs: disk.fs, durability: 'full' } });
  disk.hold();
  let held: Promise<void> | undefined;
  for (let i = 0; i < 40; i++) held = output.accept({ type: 'plan', entries: [] });
  const closing = db.transact((tx) => output.close(tx, 'completed'));
  await held;
  disk.release();
  expect(await closing).toEqual({ text: null, usage: null });
});

test('A failed write is reported, and open items are closed with the stored text.', async () => {
  const { say, output, errors, db, events, items, log, store, clock, place } = await openOutput();
  void say('stored');
  await db.transact(() => undefined);
  const insert = store.items.insert.bind(store.items);
  store.items.insert = () => {
    throw new Error('the disk is full');
  };
  void output.accept({ type: 'tool', ref: 't', change: {} });
  await expectEventually(() => errors.length).toBe(1);
  store.items.insert = insert;
  expect(output.broken).toBe(true);
  await db.transact((tx) => {
    output.close(tx, 'failed');
    closeStoredItems(tx, store.openItems(tx, place.turn_id), 'failed', { log, store, clock });
  });
  expect(items().map(({ status, text }) => [status, text])).toEqual([['failed', 'stored']]);
  expect(events().at(-1)).toMatchObject({
    kind: 'message.completed',
    payload: { text: 'stored', status: 'failed' },
  });
});

/** Starts a turn with a text, an open tool call, and more text that waits to be written. */
async function begin({ say, output }: Given) {
  void say('begun');
  void output.accept({ type: 'tool', ref: 't', change: { title: 'first' } });
  void say('said ');
  void say('and waiting');
}

test('After a failed write, no further output is written, so no text has a gap.', async () => {
  const { say, output, events, items, store, errors, arrive } = await openOutput();
  void say('one', 'a');
  const insert = vi.spyOn(store.items, 'insert').mockImplementationOnce(() => {
    throw new Error('no room');
  });
  void say('two', 'b');
  void output.accept({ type: 'usage', usage: { total_tokens: 1 } });
  void say('three', 'c');
  await arrive();
  insert.mockRestore();
  void say('four', 'd');
  await arrive();
  expect(errors).toHaveLength(1);
  expect(events().map(({ kind, payload }) => [kind, payload.text])).toEqual([
    ['message.delta', 'one'],
  ]);
  expect(items().map(({ text }) => text)).toEqual(['']);
});

test('A turn whose end is not stored continues, and ends like a turn without that attempt.', async () => {
  const given = await openOutput();
  const untried = outputOn(given);
  for (const one of [given, untried]) await begin(one);
  const refused = given.db.transact((tx) => {
    given.output.close(tx, 'failed', { input_tokens: 1 });
    throw new Error('refused');
  });
  await expect(refused).rejects.toThrow('refused');
  for (const { say, output } of [given, untried]) {
    void say(' more');
    void output.accept({ type: 'tool', ref: 't', change: { output: 'ab' } });
  }
  expect(await given.close()).toEqual(await untried.close());
  expect(given.emitted()).toEqual(untried.emitted());
  const shown = ({ items }: Given) => items().map(({ kind, status, text }) => [kind, status, text]);
  expect(shown(given)).toEqual(shown(untried));
});

test('An end that was not stored can be stored again, with the same result.', async () => {
  const given = await openOutput();
  const untried = outputOn(given);
  for (const one of [given, untried]) await begin(one);
  const { db, output } = given;
  const refused = db.transact((tx) => {
    output.close(tx, 'completed', { output_tokens: 2 });
    throw new Error('refused');
  });
  await expect(refused).rejects.toThrow('refused');
  const end = (one: Given) =>
    db.transact((tx) => one.output.close(tx, 'completed', { output_tokens: 2 }));
  expect(await end(given)).toEqual(await end(untried));
  expect(given.emitted()).toEqual(untried.emitted());
});

/** Closes the items of a killed server, as the next start does, and returns them. */
async function closed(given: Given) {
  const { db, log, store, clock, place } = given;
  await db.transact((tx) =>
    closeStoredItems(tx, store.openItems(tx, place.turn_id), 'failed', { log, store, clock }),
  );
  return given.items();
}

test('A closed item has all its stored text, and is settled.', async () => {
  const given = await openOutput();
  const { say, output, arrive, clock, events, log } = given;
  void say('one ', 'a');
  void say('two 💥', 'a');
  await arrive();
  void output.accept({ type: 'tool', ref: 't', change: { title: 'first', output: 'ab' } });
  void output.accept({ type: 'tool', ref: 't', change: { title: 'second', output: 'abc' } });
  void output.accept({ type: 'reasoning', text: 'hm' });
  const items = await closed(given);
  expect(items.map(({ kind, status, text }) => [kind, status, text])).toEqual([
    ['message', 'completed', 'one two 💥'],
    ['tool', 'failed', 'abc'],
    ['reasoning', 'failed', 'hm'],
  ]);
  expect(items[1]?.tool?.title).toBe('second');
  clock.advance(60_000);
  await log.compact();
  expect(settle(events())).toEqual(events());
});

test('A closed item equals the whole output, whatever it was.', async () => {
  const update = fc.oneof(
    fc.record({
      type: fc.constantFrom('message', 'reasoning'),
      text: fc.oneof(
        fc.string({ unit: 'grapheme', maxLength: 20 }),
        fc.constantFrom('x'.repeat(40_000), '€'.repeat(9000)),
      ),
      ref: fc.constantFrom('a', 'b'),
    }),
    fc.record({
      type: fc.constant('tool'),
      ref: fc.constantFrom('t', 'u'),
      change: fc.record(
        {
          output: fc.oneof(
            fc.string({ unit: 'grapheme', maxLength: 8 }),
            fc.constantFrom('', 'a', 'ab', 'abc', 'y'.repeat(50_000)),
          ),
          title: fc.constantFrom('one', 'two'),
        },
        { requiredKeys: [] },
      ),
    }),
  );
  const base = await testStore();
  await fc.assert(
    fc.asyncProperty(fc.array(update, { maxLength: 20 }), async (updates) => {
      const [died, lived] = [outputOn(base), outputOn(base)];
      for (const one of updates) {
        for (const { output } of [died, lived]) void output.accept(one);
      }
      await died.arrive();
      await closed(died);
      await lived.close('failed');
      const content = ({ kind, status, text, tool }: Item) => ({ kind, status, text, tool });
      expect(died.items().map(content)).toEqual(lived.items().map(content));
    }),
    { numRuns: 60 },
  );
});

test('A closed tool has its whole output, even if it was longer than an event may be.', async () => {
  const given = await openOutput();
  const { output } = given;
  const text = 'x'.repeat(400_000);
  void output.accept({ type: 'tool', ref: 't', change: { output: 'begin' } });
  void output.accept({ type: 'tool', ref: 't', change: { output: text } });
  void output.accept({ type: 'tool', ref: 't', change: { output: `${text}end` } });
  const [item] = await closed(given);
  expect(item?.text.length).toBe(text.length + 3);
});
