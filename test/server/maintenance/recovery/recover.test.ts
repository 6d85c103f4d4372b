import path from 'node:path';
import { expect, it } from 'vitest';
import type { RecoverySummary } from '../../../../src/api/runtime.ts';
import type { Item, Session, Turn } from '../../../../src/api/sessions.ts';
import type { EventLog } from '../../../../src/core/events/log.ts';
import type { SessionStore } from '../../../../src/server/conversations/sessions/store.ts';
import type { Writer } from '../../../../src/core/store/transaction.ts';
import { completed } from '../../../support/scripted-provider.ts';
import { testDirectory } from '../../../support/temp.ts';
import {
  endOf,
  killed,
  kinds,
  withHarness,
  type Harness,
  testHarness,
  afterCrash,
} from '../../../support/sessions/harness.ts';
import { anApproval, anItem, aSession, aTurn } from '../../../support/records.ts';
import { leaveBehind } from '../../../support/recovery/records.ts';

/** A start that finds what `write` left behind. */
async function startOnLeftovers(write: (leave: Leave) => void): Promise<Harness> {
  const directory = path.join(testDirectory('left'), 'data');
  await leaveBehind(directory, (tx, store, log) => write(new Leave(tx, store, log)));
  return testHarness({ directory });
}

/** Leaves rows with one session for each turn. */
class Leave {
  readonly tx: Writer;
  readonly store: SessionStore;
  readonly log: EventLog;
  constructor(tx: Writer, store: SessionStore, log: EventLog) {
    this.tx = tx;
    this.store = store;
    this.log = log;
  }

  session(id: string, more: Partial<Session>): void {
    this.store.sessions.insert(this.tx, aSession({ id: `sess_${id}`, ...more }));
  }

  turn(id: string, more: Partial<Turn>): void {
    const turn = { turn_id: `turn_${id}`, session_id: `sess_${id}`, ...more };
    this.store.turns.insert(this.tx, aTurn(turn));
  }

  /** A turn that is at work, with its session. */
  atWork(
    id: string,
    status: 'accepted' | 'running' | 'waiting_for_approval',
    more?: Partial<Turn>,
  ) {
    this.session(id, {
      status: status === 'accepted' ? 'running' : status,
      active_turn_id: `turn_${id}`,
      last_turn_id: `turn_${id}`,
      provider_session_ref: status === 'accepted' ? null : `ref-sess_${id}`,
    });
    const seen = status === 'accepted' ? {} : { started_at: 2, provider_turn_ref: `run_${id}` };
    this.turn(id, { status, ...seen, ...more });
  }

  item(id: string, item: Partial<Item>, deltas: string[]): void {
    const place = { session_id: `sess_${id}`, turn_id: `turn_${id}` };
    const record = anItem({ item_id: `item_${id}`, ...place, ...item });
    this.store.items.insert(this.tx, record);
    let offset = 0;
    for (const text of deltas) {
      const payload = { item_id: record.item_id, offset, text };
      this.log.append(this.tx, { kind: 'message.delta', ...place, payload });
      offset += Buffer.byteLength(text);
    }
  }
}

it('A start clears stale pointers, and makes ready sessions without a running turn.', async () => {
  const harness = await startOnLeftovers((leave) => {
    leave.session('gone', { active_turn_id: 'turn_nowhere' });
    leave.session('over', { status: 'running', active_turn_id: 'turn_over' });
    leave.turn('over', { status: 'completed', ended_at: 5 });
    leave.session('idle', { status: 'waiting_for_approval' });
    leave.session('closed', { status: 'closed', active_turn_id: 'turn_closed' });
    leave.turn('closed', { status: 'interrupted', ended_at: 5 });
    leave.session('fine', {});
  });
  const found = await Promise.all(
    ['gone', 'over', 'idle', 'closed', 'fine'].map((id) => harness.session(`sess_${id}`)),
  );
  expect(found.map(({ status, active_turn_id: turn }) => [status, turn])).toEqual([
    ['ready', null],
    ['ready', null],
    ['ready', null],
    ['closed', null],
    ['ready', null],
  ]);
  const { turn_pointers_cleared: cleared } = await harness.recovery();
  expect(cleared.toSorted()).toEqual(['sess_closed', 'sess_gone', 'sess_over']);
  expect(kinds(await harness.events('sess_over'))).toEqual(['session.updated']);
  expect(await harness.events('sess_fine')).toEqual([]);
  expect((await harness.turn('sess_over', 'turn_over')).status).toBe('completed');
});

it('A start begins accepted turns that no agent has seen.', async () => {
  const harness = await startOnLeftovers((leave) => leave.atWork('a', 'accepted'));
  const turn = await harness.provider.nextTurn();
  expect([turn.session.id, turn.text]).toEqual(['sess_a', 'hello']);
  turn.end(completed);
  await harness.until(endOf('turn_a'));
  expect(kinds(await harness.events('sess_a'))).toEqual([
    'turn.started',
    'session.notice',
    'turn.completed',
  ]);
  expect(await harness.recovery()).toMatchObject({
    turns_reconciled: ['turn_a'],
    turns_failed: [],
  });
});

it('A start fails turns that an agent has seen with runtime_restarted, and their sessions are ready.', async () => {
  const harness = await startOnLeftovers((leave) => {
    leave.atWork('r', 'running');
    leave.item('r', {}, ['half a sen', 'tence, with \u00fcml\u00e4uts ', 'and then']);
  });
  expect(await harness.turn('sess_r', 'turn_r')).toMatchObject({
    status: 'failed',
    error: { code: 'runtime_restarted' },
    text: 'half a sentence, with \u00fcml\u00e4uts and then',
  });
  expect(await harness.session('sess_r')).toMatchObject({
    status: 'ready',
    active_turn_id: null,
  });
  const events = await harness.events('sess_r');
  expect(kinds(events)).toEqual(['message.completed', 'turn.failed']);
  expect(events[0]?.payload).toMatchObject({
    status: 'failed',
    text: 'half a sentence, with \u00fcml\u00e4uts and then',
  });
  expect((await harness.recovery()).turns_failed).toEqual(['turn_r']);
  const items = await harness.get<Item[]>('/v1/sessions/sess_r/turns/turn_r/items');
  expect(items.body).toMatchObject([{ status: 'failed', item_id: 'item_r' }]);
  expect((await harness.startTurn({ id: 'sess_r' }, 'again')).text).toBe('again');
});

it('A start ends turns with a requested interrupt as interrupted.', async () => {
  const harness = await startOnLeftovers((leave) => {
    leave.atWork('i', 'running', { interrupt_requested_at: 3 });
    leave.item('i', {}, ['so far']);
  });
  expect(await harness.turn('sess_i', 'turn_i')).toMatchObject({
    status: 'interrupted',
    error: null,
    text: 'so far',
  });
  const events = await harness.events('sess_i');
  expect(kinds(events)).toEqual(['message.completed', 'turn.interrupted']);
  expect(events[0]?.payload.status).toBe('interrupted');
  expect((await harness.session('sess_i')).status).toBe('ready');
});

it('A start fails a waiting turn that nobody can answer, with its session.', async () => {
  const harness = await startOnLeftovers((leave) => {
    leave.atWork('o', 'waiting_for_approval');
    leave.store.approvals.insert(
      leave.tx,
      anApproval({ session_id: 'sess_o', turn_id: 'turn_o', status: 'declined' }),
    );
  });
  expect((await harness.turn('sess_o', 'turn_o')).status).toBe('failed');
  const session = await harness.session('sess_o');
  expect([session.status, session.active_turn_id]).toEqual(['failed', null]);
  expect(kinds(await harness.events('sess_o'))).toEqual(['turn.failed', 'session.failed']);
  const { sessions_failed: failed } = await harness.recovery();
  expect(failed).toMatchObject([{ session_id: 'sess_o', code: session.failure?.code }]);
});

it('A start after a crash lists all repairs in one event, in the order of their events.', async () => {
  const harness = await startOnLeftovers((leave) => {
    leave.session('p', { status: 'running', active_turn_id: 'turn_nowhere' });
    leave.atWork('r', 'running');
    leave.atWork('a', 'accepted');
    leave.atWork('w', 'waiting_for_approval');
    leave.store.approvals.insert(leave.tx, anApproval({ session_id: 'sess_w', turn_id: 'turn_w' }));
  });
  await harness.provider.nextTurn();
  const events = await harness.events();
  expect(kinds(events).slice(0, 5)).toEqual([
    'runtime.started',
    'session.updated',
    'turn.failed',
    'runtime.recovered',
    'turn.started',
  ]);
  expect(events[3]?.payload.recovery).toMatchObject({
    previous_stop: 'none',
    turn_pointers_cleared: ['sess_p'],
    turns_failed: ['turn_r'],
    turns_reconciled: ['turn_a'],
    approvals_kept: ['apr_1'],
    approvals_cancelled: [],
  } satisfies Partial<RecoverySummary>);
  expect((await harness.session('sess_w')).status).toBe('waiting_for_approval');
});

it('A start after an orderly stop, or on a new directory, repairs nothing.', async () => {
  const harness = await testHarness();
  expect(await harness.recovery()).toMatchObject({
    previous_stop: 'none',
    sessions_failed: [],
    turn_pointers_cleared: [],
    turns_failed: [],
    turns_reconciled: [],
    approvals_kept: [],
    approvals_cancelled: [],
  });
  expect(kinds(await harness.events())).toEqual(['runtime.started', 'runtime.recovered']);
});

it('A start does the same after a kill of a run with all of these turns.', async () => {
  const [harness, { running, stopping, idle }] = await afterCrash(async (harness) => {
    const { session: running, turn } = await harness.atWork();
    void turn.sink.update({ type: 'message', text: 'half' });
    await harness.until(({ kind }) => kind === 'message.delta');
    const stopping = await harness.open();
    await harness.startTurn(stopping);
    const { active_turn_id: turnId } = await harness.session(stopping.id);
    await harness.interrupt(stopping.id, turnId ?? '');
    const idle = await harness.open();
    return { running, stopping, idle };
  });
  const ends = await Promise.all(
    [running, stopping].map(async ({ id }) => (await harness.events(id)).at(-1)?.kind),
  );
  expect(ends).toEqual(['turn.failed', 'turn.interrupted']);
  const all = await Promise.all(
    [running, stopping, idle].map(async ({ id }) => (await harness.session(id)).status),
  );
  expect(all).toEqual(['ready', 'ready', 'ready']);
  expect((await harness.recovery()).previous_stop).toBe('unclean');
});

it('A start that dies right after its repairs repairs nothing twice.', async () => {
  await using dead = await killed(async (harness) => {
    const session = await harness.open();
    await harness.startTurn(session);
    return session.id;
  });
  await using again = await killed((harness) => harness.events(dead.left), {
    directory: dead.directory,
  });
  expect(kinds(again.left).at(-1)).toBe('turn.failed');
  await withHarness(
    async (harness) => expect(await harness.events(dead.left)).toEqual(again.left),
    {
      directory: again.directory,
    },
  );
});
