import type { EventKind } from '../api/events.ts';
import type { Item, Session, Turn } from '../api/sessions.ts';
import { AppError } from '../errors.ts';
import type { EventLog } from '../events/log.ts';
import type { Database } from '../store/database.ts';
import { RecordTable } from '../store/records.ts';
import { sessionInEvents } from './session.ts';
import { turnInEvents } from './turn.ts';

/** The rows of sessions, turns and items. Each change is written with the event that tells of it. */
export class SessionStore {
  readonly sessions: RecordTable<Session>;
  readonly turns: RecordTable<Turn>;
  readonly items: RecordTable<Item>;
  readonly #log: EventLog;

  constructor({ db, log }: { db: Database; log: EventLog }) {
    this.#log = log;
    this.sessions = new RecordTable(db, 'sessions', (session) => session.id);
    this.turns = new RecordTable(db, 'turns', (turn) => turn.turn_id);
    this.items = new RecordTable(db, 'items', (item) => item.item_id);
  }

  /** Throws `not_found`. */
  session(id: string): Session {
    const session = this.sessions.get(id);
    if (session) return session;
    throw new AppError('not_found', `no session "${id}"; see cadre sessions list`);
  }

  /** A turn of that session. Throws `not_found`, also for another session's turn. */
  turn(sessionId: string, turnId: string): Turn {
    this.session(sessionId);
    const turn = this.turns.get(turnId);
    if (turn?.session_id === sessionId) return turn;
    throw new AppError('not_found', `session "${sessionId}" has no turn "${turnId}"`);
  }

  createSession(session: Session): void {
    this.sessions.insert(session);
    this.#log.append({ kind: 'session.created', session_id: session.id, payload: { session } });
  }

  /** Writes a session whose change a client cannot see from its turns' events. */
  updateSession(session: Session, kind: EventKind): void {
    this.sessions.update(session);
    this.#log.append({
      kind,
      session_id: session.id,
      payload: { session: sessionInEvents(session) },
    });
  }

  acceptTurn(session: Session, turn: Turn): void {
    this.turns.insert(turn);
    this.sessions.update(session);
    this.#append('turn.accepted', turn, { turn });
  }

  /** Writes a turn's move and the status of its session that follows from it. */
  moveTurn(session: Session, turn: Turn, kind: EventKind): void {
    this.turns.update(turn);
    this.sessions.update(session);
    this.#append(kind, turn, { turn: turnInEvents(turn) });
  }

  openItems(turnId: string): Item[] {
    return this.items.where("turn_id = ? AND status = 'open'", turnId);
  }

  itemsOf(turnId: string): Item[] {
    return this.items.where('turn_id = ?', turnId);
  }

  /** Items outside any turn that nobody closed, oldest first. */
  openAsides(): Item[] {
    return this.items.where("turn_id IS NULL AND status = 'open'");
  }

  /** The last thing the agent said in a turn, as its items have it. */
  lastMessage(turnId: string): string | null {
    return this.itemsOf(turnId).findLast(({ kind }) => kind === 'message')?.text ?? null;
  }

  /** Turns that have not ended, oldest first. */
  unfinishedTurns(): Turn[] {
    return this.turns.where("status IN ('accepted', 'running', 'waiting_for_approval')");
  }

  /** Sessions that point at an active turn, oldest first. */
  sessionsWithActiveTurn(): Session[] {
    return this.sessions.where('active_turn_id IS NOT NULL');
  }

  /** Sessions that say they are at work, oldest first. */
  busySessions(): Session[] {
    return this.sessions.where("status IN ('running', 'waiting_for_approval')");
  }

  #append(kind: EventKind, turn: Turn, payload: Record<string, unknown>): void {
    this.#log.append({ kind, session_id: turn.session_id, turn_id: turn.turn_id, payload });
  }
}
