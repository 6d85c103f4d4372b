import { mkdirSync } from 'node:fs';
import type { Item, Session, Turn } from '../../../src/api/sessions.ts';
import type { EventBody, Scope } from '../../../src/core/events/event.ts';
import { prepareLogs, removeLogs } from '../../../src/server/work/processes/log-file.ts';
import { ProcessStore } from '../../../src/server/work/processes/store.ts';
import {
  type RetentionSettings,
  StorageBudget,
} from '../../../src/server/maintenance/retention/budget.ts';
import { Retention } from '../../../src/server/maintenance/retention/retention.ts';
import {
  beginTurn,
  closedSession,
  endTurn,
} from '../../../src/server/conversations/sessions/session.ts';
import { SessionStore } from '../../../src/server/conversations/sessions/store.ts';
import { withTurnEnd, startTurn } from '../../../src/server/conversations/sessions/turn.ts';
import { openStore, type TestStore } from '../store.ts';
import type { Writer } from '../../../src/core/store/transaction.ts';
import { openForTest } from '../shared.ts';
import { tempDirectory } from '../temp.ts';
import { ManualClock } from '../manual-clock.ts';
import { anApproval, aSession, aTurn } from '../records.ts';
import type { UntypedEvent } from '../untyped-events.ts';
import { pageOf } from '../entries.ts';

const PIECE = { content: 'x'.repeat(950), status: 'pending', priority: null };

/** A real store with retention; the test controls the budget and the clock. */
export interface Archive extends TestStore {
  store: SessionStore;
  clock: ManualClock;
  budget: StorageBudget;
  settings: RetentionSettings;
  /** Removes data over the limits until it is done or `signal` aborts. */
  retain(signal?: AbortSignal): Promise<void>;
  /** Stores a session with turns of about 1100 bytes an event; returns the events. */
  fill(id: string, history?: History): Promise<UntypedEvent[]>;
  closeSession(id: string): Promise<void>;
  session(id: string): Session;
  itemsOf(turnId: string): Item[];
  /** Opens an approval of a session's active turn; returns its event. */
  ask(sessionId: string): Promise<UntypedEvent | undefined>;
  /** All events that were ever appended, in order. */
  readonly appended: readonly UntypedEvent[];
  /** Returns the seqs of the remaining events of a scope. */
  left(scope?: Scope): number[];
  /** Returns the payloads of all `storage.trimmed` events, in order. */
  trimmedPayloads(): TrimmedPayload[];
}

export interface History {
  turns?: number;
  /** Number of events of each turn, in addition to the usual ones. */
  bulk?: number;
  /** State of the last turn and of the session. */
  end?: 'closed' | 'ready' | 'running';
}

export interface TrimmedPayload {
  reason: string;
  events: number;
  trimmed_seq: number;
  /** Where it was a closed session's. */
  closed_session_id?: string;
  is_whole?: boolean;
}

export const everything: Scope = { name: 'runtime' };
export const ofSession = (id: string): Scope => ({ name: 'session', id });
export const seqsOf = (events: readonly { seq: number }[]): number[] =>
  events.map(({ seq }) => seq);

/** Opens a new archive without limits, which is closed when the test has finished. */
export function testArchive(): Promise<Archive> {
  return openForTest(async (use) => {
    await using directory = tempDirectory('archive');
    await using archive = await openArchive(directory.path);
    await use(archive);
  });
}

/** Opens the store of a directory; disposing it closes the database. */
export async function openArchive(
  directory: string,
  clock: ManualClock = new ManualClock(),
): Promise<Archive> {
  mkdirSync(directory, { recursive: true });
  const given = await openStore(directory, { clock, durability: 'normal' });
  const { db, log } = given;
  const appended: UntypedEvent[] = [];
  db.onDurable((entries) => {
    for (const { text } of entries as { text: string }[])
      appended.push(JSON.parse(text) as UntypedEvent);
  });
  const store = new SessionStore({ db, log });
  const limits: RetentionSettings = { max_bytes: 0, max_age_days: null, min_free_bytes: 0 };
  const settings = () => limits;
  const logs = prepareLogs(directory);
  const processes = new ProcessStore({ db, log });
  const budget = new StorageBudget({ db, directory, logs, clock, settings });
  const retention = new Retention({
    db,
    log,
    store,
    processes,
    onTrimmed: () => undefined,
    onSessionTrimmed: () => undefined,
    removeLogs: (id) => removeLogs(logs, id),
    clock,
    budget,
    settings,
  });
  return Object.assign(given, {
    store,
    clock,
    budget,
    settings: limits,
    appended,
    retain: (signal = new AbortController().signal) => retention.run(signal),
    async fill(id: string, history: History = {}) {
      const before = appended.length;
      clock.advance(1000);
      await db.transact((tx) => writeSession(tx, { store, log, clock }, id, history));
      return appended.slice(before);
    },
    async closeSession(id: string) {
      clock.advance(1000);
      await db.transact((tx) => {
        const closed = closedSession(store.session(tx, id), null, clock.now());
        store.updateSession(tx, closed, 'session.closed');
      });
    },
    session: (id: string) => db.peek((rx) => store.session(rx, id)),
    itemsOf: (turnId: string) => db.peek((rx) => store.itemsOf(rx, turnId)),
    async ask(sessionId: string) {
      await db.transact((tx) => {
        const session = store.session(tx, sessionId);
        const turn = store.turn(tx, sessionId, session.active_turn_id ?? '');
        const { session_id, turn_id } = turn;
        const asked = { id: `${turn_id}-approval`, session_id, turn_id, created_at: clock.now() };
        store.requestApproval(tx, session, turn, anApproval(asked));
      });
      return appended.at(-1);
    },
    left: (scope: Scope = everything) =>
      seqsOf(
        pageOf(log, scope, { after: 0, upTo: db.durableSeq, limit: 1_000_000, maxBytes: 1e9 })
          .entries,
      ),
    trimmedPayloads: () =>
      appended
        .filter(({ kind }) => kind === 'storage.trimmed')
        .map(({ payload }) => payload as unknown as TrimmedPayload),
  });
}

function writeSession(
  tx: Writer,
  { store, log, clock }: Pick<Archive, 'store' | 'log' | 'clock'>,
  id: string,
  { turns = 1, bulk = 100, end = 'closed' }: History,
): void {
  const now = clock.now();
  let session = aSession({ id, created_at: now, updated_at: now });
  store.createSession(tx, session);
  for (let nth = 1; nth <= turns; nth++) {
    const turn_id = `${id}-turn${nth}`;
    const input = [{ type: 'text' as const, text: `do ${nth}` }];
    const turn = aTurn({ session_id: id, turn_id, input, accepted_at: now });
    session = beginTurn(session, turn, now);
    store.acceptTurn(tx, session, turn);
    const started = startTurn(turn, now);
    store.moveTurn(tx, session, started, 'turn.started');
    const append = (body: EventBody) => log.append(tx, { ...body, session_id: id, turn_id });
    for (let i = 0; i < bulk; i++) append({ kind: 'plan.updated', payload: { entries: [PIECE] } });
    const item = said(started);
    store.items.insert(tx, item);
    const { item_id, text } = item;
    append({ kind: 'message.delta', payload: { item_id, offset: 0, text } });
    if (end === 'running' && nth === turns) return;
    const whole = { item_id, offset: 0, status: 'completed', text } as const;
    append({ kind: 'message.completed', payload: whole });
    session = endStoredTurn(tx, store, session, started, item.text, now);
  }
  if (end === 'closed')
    store.updateSession(tx, closedSession(session, null, now), 'session.closed');
}

function endStoredTurn(
  tx: Writer,
  store: SessionStore,
  session: Session,
  turn: Turn,
  text: string,
  now: number,
): Session {
  const ended = withTurnEnd(turn, { status: 'completed', error: null }, { text, usage: null }, now);
  const after = endTurn(session, ended, now);
  store.endTurn(tx, after, ended, 'completed');
  return after;
}

function said({ session_id, turn_id, accepted_at }: Turn): Item {
  return {
    item_id: `${turn_id}-item`,
    session_id,
    turn_id,
    kind: 'message',
    status: 'completed',
    text: `done in ${turn_id}`,
    tool: null,
    created_at: accepted_at,
    completed_at: accepted_at,
  };
}
