import fs from 'node:fs';
import type { EventKind } from '../../src/api/events.ts';
import type { Item, Session, Turn } from '../../src/api/sessions.ts';
import { EventLog } from '../../src/core/events/log.ts';
import { type Clock, systemClock } from '../../src/core/lib/clock.ts';
import { systemIds } from '../../src/core/lib/ids.ts';
import {
  beginTurn,
  closedSession,
  endTurn,
} from '../../src/server/conversations/sessions/session.ts';
import { SessionStore } from '../../src/server/conversations/sessions/store.ts';
import { withTurnEnd, startTurn } from '../../src/server/conversations/sessions/turn.ts';
import { openDatabase } from '../support/database.ts';
import type { Writer } from '../../src/core/store/transaction.ts';
import { anItem, aSession, aTurn, aUsage } from '../support/records.ts';
import { untypedDraft } from '../support/untyped-events.ts';

const TURNS_A_SESSION = 10;
const TOOLS_A_TURN = 3;
/** How many events may still have their deltas: what a minute brings. */
const FRESH_EVENTS = 500;
/** Sessions that are still open: as many as somebody works with, however long the log is. */
const OPEN_SESSIONS = 20;

/** A data directory that was worked in for long, and its last session. */
export interface History {
  directory: string;
  session_id: string;
}

interface HistoryOptions {
  turnsASession?: number;
  /** The title of a session by its number. */
  titleOf?: (n: number) => string;
}

/** Writes `events` events and a few more, with all their records, as long work leaves them. */
export async function writeHistory(
  directory: string,
  events: number,
  {
    turnsASession = TURNS_A_SESSION,
    titleOf = () => 'one of many pieces of work',
  }: HistoryOptions = {},
): Promise<History> {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  let left = events;
  const clock: Clock = {
    ...systemClock,
    // A second an event; those that have their deltas are new.
    now: () => systemClock.now() - Math.max(0, left - FRESH_EVENTS) * 1000,
  };
  const db = await openDatabase(directory, { durability: 'normal', clock });
  const log = new EventLog({ db, clock, ids: systemIds });
  const store = new SessionStore({ db, log });
  const writer = new SessionWriter({ store, log, clock, turnsASession, titleOf });
  let last = aSession();
  while (left > 0) {
    last = await db.transact((tx) => {
      const isFresh = () => left < FRESH_EVENTS;
      const session = writer.session(tx, isFresh);
      const eventsASession = 2 + turnsASession * (5 + 2 * TOOLS_A_TURN);
      return left > OPEN_SESSIONS * eventsASession ? writer.close(tx, session) : session;
    });
    left = events - db.durableSeq;
  }
  await db.close();
  return { directory, session_id: last.id };
}

/** Writes sessions as the server would. */
class SessionWriter {
  readonly #store: SessionStore;
  readonly #log: EventLog;
  readonly #clock: Clock;
  readonly #options: Required<HistoryOptions>;
  #sessions = 0;

  constructor(
    given: { store: SessionStore; log: EventLog; clock: Clock } & Required<HistoryOptions>,
  ) {
    this.#store = given.store;
    this.#log = given.log;
    this.#clock = given.clock;
    this.#options = given;
  }

  session(tx: Writer, isFresh: () => boolean): Session {
    const now = this.#clock.now();
    const session = aSession({
      id: systemIds.next('sess'),
      title: this.#options.titleOf(this.#sessions++),
      created_at: now,
      updated_at: now,
    });
    this.#store.createSession(tx, session);
    const taken = { ...session, provider_session_ref: systemIds.next('run') };
    let after: Session = taken;
    for (let i = 0; i < this.#options.turnsASession; i++) after = this.#turn(tx, after, isFresh());
    return after;
  }

  close(tx: Writer, session: Session): Session {
    const closed = closedSession(session, 'done', this.#clock.now());
    this.#store.updateSession(tx, closed, 'session.closed');
    return closed;
  }

  #turn(tx: Writer, session: Session, isFresh: boolean): Session {
    const now = this.#clock.now();
    const turn = aTurn({
      session_id: session.id,
      turn_id: systemIds.next('turn'),
      input: [{ type: 'text', text: 'please do the next thing, and say what you did '.repeat(4) }],
      accepted_at: now,
    });
    const busy = beginTurn(session, turn, now);
    this.#store.acceptTurn(tx, busy, turn);
    const started = startTurn(turn, now);
    this.#store.moveTurn(tx, busy, started, 'turn.started');
    this.#say(tx, started, 'First this has to be looked at. '.repeat(10), isFresh);
    for (let i = 0; i < TOOLS_A_TURN; i++) this.#useTool(tx, started, isFresh);
    const text = 'All of it is done, and this is how. '.repeat(15);
    this.#say(tx, started, text, isFresh);
    const usage = aUsage({ input_tokens: 12_000, output_tokens: 800 });
    const end = withTurnEnd(started, { status: 'completed', error: null }, { text, usage }, now);
    const after = endTurn(busy, end, now);
    this.#store.endTurn(tx, after, end, 'completed');
    return after;
  }

  #say(tx: Writer, turn: Turn, text: string, isFresh: boolean): void {
    const item = this.#item(turn, { kind: 'message', text });
    const { item_id } = item;
    if (isFresh) this.#append(tx, turn, 'message.delta', { item_id, offset: 0, text });
    this.#close(tx, turn, item);
  }

  #useTool(tx: Writer, turn: Turn, isFresh: boolean): void {
    const input = { command: 'npm test -- --reporter=dot', timeout: 60_000 };
    const tool = { call_ref: systemIds.next('run'), title: 'npm test', kind: 'execute', input };
    const item = this.#item(turn, { kind: 'tool', tool, text: 'ok 1 - it works\n'.repeat(20) });
    const { item_id, text } = item;
    this.#append(tx, turn, 'tool.started', { item_id, offset: 0, tool, status: 'pending' });
    if (isFresh)
      this.#append(tx, turn, 'tool.updated', {
        item_id,
        offset: 0,
        text,
        tool,
        status: 'running',
      });
    this.#close(tx, turn, item);
  }

  #item(turn: Turn, more: Partial<Item>): Item {
    const { session_id, turn_id } = turn;
    const now = this.#clock.now();
    const times = { created_at: now, completed_at: now };
    const item_id = systemIds.next('item');
    return anItem({ item_id, session_id, turn_id, status: 'completed', ...times, ...more });
  }

  #close(tx: Writer, turn: Turn, item: Item): void {
    this.#store.items.insert(tx, item);
    const { item_id, status, text, tool } = item;
    const whole = { item_id, offset: 0, status, text, ...(tool ? { tool } : {}) };
    this.#append(tx, turn, `${item.kind}.completed`, whole);
  }

  #append(
    tx: Writer,
    { session_id, turn_id }: Turn,
    kind: EventKind,
    payload: Record<string, unknown>,
  ): void {
    this.#log.append(tx, untypedDraft({ kind, session_id, turn_id, payload }));
  }
}
