import { expect, test } from 'vitest';
import type { Item, Session, Turn } from '../../../../src/api/sessions.ts';
import { endOf, type Harness, testHarness } from '../../../support/sessions/harness.ts';
import { completed } from '../../../support/scripted-provider.ts';
import { anApproval } from '../../../support/records.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { testArchive } from '../../../support/retention/archive.ts';
import { limit, passTime, retain } from '../../../support/retention/harness.ts';

interface Talk {
  session: Session;
  turns: Turn[];
  items: Item[];
}

/** A session with two turns in which something was said and done, as its records are then. */
async function talk(harness: Harness): Promise<Talk> {
  const { id } = await harness.open();
  for (const text of ['first', 'second']) {
    const turn = await harness.startTurn({ id }, `${text} question`);
    const { sink } = turn;
    await sink.update({ type: 'message', text: `${text} answer` });
    await sink.update({ type: 'tool', ref: 't', change: { title: 'look', status: 'completed' } });
    await sink.update({ type: 'usage', usage: { input_tokens: 3 } });
    await harness.complete(turn);
  }
  return read(harness, id);
}

async function read({ get, session }: Harness, id: string): Promise<Talk> {
  const turns = (await get<Turn[]>(`/v1/sessions/${id}/turns`)).body;
  const items = await Promise.all(
    turns.map(async ({ turn_id }) => {
      return (await get<Item[]>(`/v1/sessions/${id}/turns/${turn_id}/items`)).body;
    }),
  );
  return { session: await session(id), turns, items: items.flat() };
}

/** Lets everything go that may; resolves when a session has nothing more to give. */
async function letGo(harness: Harness, id: string): Promise<void> {
  retain(harness, { max_bytes: 1 });
  await expectEventually(async () => (await harness.session(id)).trimmed).toBe(true);
}

test('The records of a trimmed session stay, marked as trimmed and without their texts.', async () => {
  const harness = await testHarness();
  const { session, turns, items } = await talk(harness);
  expect(turns.map(({ text }) => text)).toEqual(['second answer', 'first answer']);
  expect(items).toHaveLength(4);
  const closed = (await harness.close(session.id, 'done')).body;
  await letGo(harness, session.id);
  const now = await read(harness, session.id);
  expect(now.session).toEqual({ ...closed, last_words: null, trimmed: true });
  expect(now.turns).toEqual(
    turns.map((turn) => ({ ...turn, input: [], text: null, trimmed: true })),
  );
  expect(now.items).toEqual([]);
  expect(await harness.events(session.id)).toEqual([]);
});

test('Each turn of a trimmed session and its approvals can be read, and its items are 404.', async () => {
  const harness = await testHarness();
  const { id } = await harness.open();
  const { ask, end } = await harness.startTurn({ id });
  void ask();
  const approval = await harness.asked(id);
  const decided = (await harness.decide(approval, 'decline')).body;
  end(completed);
  await harness.until(endOf(approval.turn_id));
  const { items } = await talk(harness);
  const other = items[0] as Item;
  for (const closing of [id, other.session_id]) await harness.close(closing);
  await letGo(harness, id);
  await letGo(harness, other.session_id);
  expect(await harness.turn(id, approval.turn_id)).toMatchObject({ trimmed: true, input: [] });
  expect((await harness.get(`/v1/sessions/${id}/approvals`)).body).toEqual([
    { ...(decided as object), request: null, subject: null, details: [], questions: null },
  ]);
  const { session_id, turn_id, item_id } = other;
  const path = `/v1/sessions/${session_id}/turns/${turn_id}/items/${item_id}`;
  expect((await harness.get(path)).status).toBe(404);
});

test('The content of an approval is removed with its closed session, so that it does not use up the budget.', async () => {
  const archive = await testArchive();
  const { db, store, settings, budget } = archive;
  await archive.fill('asked', { end: 'running' });
  const content = 'x'.repeat(1_000_000);
  const approval = anApproval({
    session_id: 'asked',
    turn_id: 'asked-turn1',
    request: { content },
    subject: { content },
    details: [{ type: 'input', name: 'content', value: content }],
  });
  await db.transact((tx) => {
    const turn = store.turn(tx, 'asked', 'asked-turn1');
    store.requestApproval(tx, store.session(tx, 'asked'), turn, approval);
  });
  await archive.closeSession('asked');
  settings.max_bytes = 1_000_000;
  await archive.retain();
  expect(budget.isSpent).toBe(false);
  expect(db.peek((rx) => store.approvalsOf(rx, 'asked-turn1'))).toEqual([
    expect.objectContaining({ title: 'use a tool', request: null, subject: null, details: [] }),
  ]);
});

test('Lists have a trimmed session, and closing it again returns it unchanged.', async () => {
  const harness = await testHarness();
  const { session } = await talk(harness);
  await harness.close(session.id);
  await letGo(harness, session.id);
  const trimmed = await harness.session(session.id);
  const listed = (await harness.get<Session[]>('/v1/sessions?status=closed')).body;
  expect(listed).toEqual([trimmed]);
  expect((await harness.close(session.id)).body).toEqual(trimmed);
});

test('The events of an open session may be removed, but not its records, turns and items.', async () => {
  const harness = await testHarness();
  const before = await talk(harness);
  const { session } = await talk(harness);
  await harness.close(session.id);
  await letGo(harness, session.id);
  await expectEventually(async () =>
    (await harness.events(before.session.id)).filter(({ kind }) => kind !== 'message.delta'),
  ).toEqual([]);
  expect(await read(harness, before.session.id)).toEqual(before);
});

test('The texts of the turns of an open session are removed once it is closed.', async () => {
  const harness = await testHarness();
  const { session } = await talk(harness);
  limit(harness, { max_bytes: 1 });
  await harness.close(session.id);
  passTime(harness);
  await expectEventually(async () => (await harness.session(session.id)).trimmed).toBe(true);
  expect((await read(harness, session.id)).items).toEqual([]);
});

// Items are looked for by their turns, and these have none.
test('The texts of an agent outside a turn are removed with its closed session.', async () => {
  const archive = await testArchive();
  const { db, store, settings } = archive;
  await archive.fill('closed');
  await db.transact((tx) => {
    const [said] = store.itemsOf(tx, 'closed-turn1');
    if (said) store.items.insert(tx, { ...said, item_id: 'aside', turn_id: null });
  });
  settings.max_bytes = 1;
  await archive.retain();
  expect(archive.session('closed').trimmed).toBe(true);
  expect(db.peek((rx) => store.items.get(rx, 'aside'))).toBe(undefined);
});
