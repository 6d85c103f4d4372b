import { expect, it } from 'vitest';
import { noFailpoints } from '../../../../src/core/lib/failpoint.ts';
import { systemIds } from '../../../../src/core/lib/ids.ts';
import { ImportReader } from '../../../../src/server/conversations/imports/reader.ts';
import { ImportStore } from '../../../../src/server/conversations/imports/store.ts';
import { testStore } from '../../../support/memory-store.ts';
import { aSession, aTurn } from '../../../support/records.ts';

const TURNS = 150;

it('Turns that ran in cadre become no past turns, however many there are since the last reading.', async () => {
  const { db, log, store: sessionStore, clock } = await testStore();
  const store = new ImportStore({ db, log });
  const imported = { program: 'agent', past_turns: 0, omitted_turns: 0, complete: true };
  const times = Array.from({ length: TURNS }, (_, at) => 1000 * at);
  await db.transact((tx) => {
    sessionStore.createSession(tx, aSession({ provider_session_ref: 'conv', imported }));
    store.imports.insert(tx, {
      session_id: 'sess_1',
      conversation: 'conv',
      ref: 'conv',
      history: 10,
      status: 'done',
      head: null,
    });
    for (const at of times)
      sessionStore.turns.insert(
        tx,
        aTurn({ turn_id: `turn_${at}`, status: 'completed', started_at: at, ended_at: at }),
      );
  });
  const turns = times.map((at) => ({
    ref: `own_${at}`,
    program: 'agent',
    status: 'completed' as const,
    prompt: 'hello',
    items: [],
    occurredAt: at,
  }));
  const conversations = { turns: async () => ({ turns, newest: null, omitted: 0 }) };
  const reader = new ImportReader({
    db,
    clock,
    ids: systemIds,
    logger: {} as never,
    failpoint: noFailpoints,
    store,
    sessionStore,
    pool: {} as never,
    kinds: { usable: () => ({ conversations }) } as never,
  });
  expect(await reader.read('sess_1')).toBe(0);
});
