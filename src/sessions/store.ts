import type { EventKind } from '../api/events.ts';
import type { Approval } from '../api/approvals.ts';
import type { Item, Session, Turn } from '../api/sessions.ts';
import { AppError } from '../errors.ts';
import type { EventLog } from '../events/log.ts';
import type { Database } from '../store/database.ts';
import { RecordTable } from '../store/records.ts';
import type { Reader, Writer } from '../store/transaction.ts';
import { approvalInEvents } from './approval.ts';
import { sessionInEvents } from './session.ts';
import { turnInEvents } from './turn.ts';

/** The rows of sessions, turns, items and approvals. Each change is written with the event that tells of it. */
export class SessionStore {
  readonly sessions: RecordTable<Session>;
  readonly turns: RecordTable<Turn>;
  readonly items: RecordTable<Item>;
  readonly approvals: RecordTable<Approval>;
  readonly #log: EventLog;

  constructor({ db, log }: { db: Database; log: EventLog }) {
    this.#log = log;
    this.sessions = new RecordTable(db, 'sessions', (session) => session.id);
    this.turns = new RecordTable(db, 'turns', (turn) => turn.turn_id);
    this.items = new RecordTable(db, 'items', (item) => item.item_id);
    this.approvals = new RecordTable(db, 'approvals', (approval) => approval.id);
  }

  /** Throws `not_found`. */
  session(rx: Reader, id: string): Session {
    const session = this.sessions.get(rx, id);
    if (session) return session;
    throw new AppError('not_found', `no session "${id}"`);
  }

  /** A turn of that session. Throws `not_found`, also for another session's turn. */
  turn(rx: Reader, sessionId: string, turnId: string): Turn {
    this.session(rx, sessionId);
    const turn = this.turns.get(rx, turnId);
    if (turn?.session_id === sessionId) return turn;
    throw new AppError('not_found', `session "${sessionId}" has no turn "${turnId}"`);
  }

  /** The turn that a session is at; undefined where it is at none, or there is no such session. */
  activeTurn(rx: Reader, sessionId: string): Turn | undefined {
    const active = this.sessions.get(rx, sessionId)?.active_turn_id;
    return active ? this.turns.get(rx, active) : undefined;
  }

  /** An approval of that session. Throws `not_found`, also for another session's approval. */
  approval(rx: Reader, sessionId: string, approvalId: string): Approval {
    this.session(rx, sessionId);
    const approval = this.approvals.get(rx, approvalId);
    if (approval?.session_id === sessionId) return approval;
    throw new AppError('not_found', `session "${sessionId}" has no approval "${approvalId}"`);
  }

  createSession(tx: Writer, session: Session): void {
    this.sessions.insert(tx, session);
    this.#log.append(tx, { kind: 'session.created', session_id: session.id, payload: { session } });
  }

  /** Writes a session whose change a client cannot see from its turns' events. */
  updateSession(tx: Writer, session: Session, kind: EventKind): void {
    this.sessions.update(tx, session);
    this.#log.append(tx, {
      kind,
      session_id: session.id,
      payload: { session: sessionInEvents(session) },
    });
  }

  acceptTurn(tx: Writer, session: Session, turn: Turn): void {
    this.turns.insert(tx, turn);
    this.sessions.update(tx, session);
    this.#append(tx, 'turn.accepted', turn, { turn });
  }

  /** Writes a turn's move and the status of its session that follows from it. */
  moveTurn(tx: Writer, session: Session, turn: Turn, kind: EventKind): void {
    this.turns.update(tx, turn);
    this.sessions.update(tx, session);
    this.#append(tx, kind, turn, { turn: turnInEvents(turn) });
  }

  /** Writes an approval that was asked for; turn and session wait for it. */
  requestApproval(tx: Writer, session: Session, turn: Turn, approval: Approval): void {
    this.approvals.insert(tx, approval);
    this.#wait(tx, session, turn, 'waiting_for_approval');
    this.#append(tx, 'approval.requested', turn, { approval });
  }

  /** Writes a resolved approval; turn and session go on once none of theirs is pending, if an agent is at it. */
  resolveApproval(tx: Writer, session: Session, turn: Turn, approval: Approval): void {
    this.approvals.update(tx, approval);
    const goesOn =
      turn.provider_turn_ref !== null && this.pendingApprovals(tx, turn.turn_id).length === 0;
    if (goesOn && turn.status === 'waiting_for_approval') this.#wait(tx, session, turn, 'running');
    this.#append(tx, 'approval.resolved', turn, { approval: approvalInEvents(approval) });
  }

  /** The approvals that hold a turn, oldest first. */
  pendingApprovals(rx: Reader, turnId: string): Approval[] {
    return this.approvals.where(rx, "turn_id = ? AND status = 'pending'", turnId);
  }

  approvalsOf(rx: Reader, turnId: string): Approval[] {
    return this.approvals.where(rx, 'turn_id = ?', turnId);
  }

  /** Every pending approval, oldest first. */
  allPendingApprovals(rx: Reader): Approval[] {
    return this.approvals.where(rx, "status = 'pending'");
  }

  openItems(rx: Reader, turnId: string): Item[] {
    return this.items.where(rx, "turn_id = ? AND status = 'open'", turnId);
  }

  itemsOf(rx: Reader, turnId: string): Item[] {
    return this.items.where(rx, 'turn_id = ?', turnId);
  }

  /** Items outside any turn that nobody closed, oldest first. */
  openAsides(rx: Reader): Item[] {
    return this.items.where(rx, "turn_id IS NULL AND status = 'open'");
  }

  /** The last thing the agent said in a turn, as its items have it. */
  lastMessage(rx: Reader, turnId: string): string | null {
    return this.itemsOf(rx, turnId).findLast(({ kind }) => kind === 'message')?.text ?? null;
  }

  /** The newest turn of a session that says how full its context is. */
  newestWithContext(rx: Reader, sessionId: string): Turn | undefined {
    return this.turns.first(
      rx,
      {
        index: 'turns_context',
        where: `session_id = ? AND record ->> '$.usage.context_tokens' IS NOT NULL
          AND record ->> '$.usage.context_window' IS NOT NULL`,
        order: 'n DESC',
      },
      1,
      sessionId,
    )[0];
  }

  /** Turns that have not ended, oldest first. */
  unfinishedTurns(rx: Reader): Turn[] {
    return this.turns.where(rx, "status IN ('accepted', 'running', 'waiting_for_approval')");
  }

  /** Sessions that point at an active turn, oldest first. */
  sessionsWithActiveTurn(rx: Reader): Session[] {
    return this.sessions.where(rx, 'active_turn_id IS NOT NULL');
  }

  /** Sessions that say they are at work, oldest first. */
  busySessions(rx: Reader): Session[] {
    return this.sessions.where(rx, "status IN ('running', 'waiting_for_approval')");
  }

  /** Sessions that are ready and that an agent of the provider has seen, oldest first. */
  resumableSessions(rx: Reader, provider: Session['provider']): Session[] {
    return this.sessions.where(
      rx,
      // Those that are ready are few beside all that the provider ever had.
      "status = 'ready' AND +provider = ? AND record ->> '$.provider_session_ref' IS NOT NULL",
      provider,
    );
  }

  /** Sessions that are not closed and work in a directory, or below it. */
  openIn(rx: Reader, directory: string): Session[] {
    return this.sessions.where(
      rx,
      `status IN ('ready', 'running', 'waiting_for_approval', 'failed')
       AND substr(record ->> '$.cwd' || '/', 1, ?) = ?`,
      directory.length + 1,
      `${directory}/`,
    );
  }

  /** The session that has been closed for longest and that retention has not taken everything of. */
  oldestTrimmable(rx: Reader): Session | undefined {
    return this.sessions.first(
      rx,
      {
        index: 'sessions_trimmable',
        where: "status = 'closed' AND trimmed IS NOT 1",
        order: 'closed_at',
      },
      1,
    )[0];
  }

  /** Takes what was said in a closed session, a few turns at a time; false where nothing is left. */
  trimTurns(tx: Writer, sessionId: string, limit: number): boolean {
    const turns = this.turns.first(
      tx,
      { index: 'turns_trimmable', where: 'session_id = ? AND trimmed IS NOT 1', order: 'n' },
      limit,
      sessionId,
    );
    for (const turn of turns) {
      this.items.deleteWhere(tx, 'turn_id = ?', turn.turn_id);
      this.turns.update(tx, { ...turn, input: [], text: null, trimmed: true });
    }
    if (turns.length === 0)
      this.items.deleteWhere(tx, 'turn_id IS NULL AND session_id = ?', sessionId);
    return turns.length > 0;
  }

  /** Writes that nothing is left of a closed session but its records. */
  markTrimmed(tx: Writer, session: Session): void {
    this.sessions.update(tx, { ...session, trimmed: true });
  }

  #wait(
    tx: Writer,
    session: Session,
    turn: Turn,
    status: 'running' | 'waiting_for_approval',
  ): void {
    this.turns.update(tx, { ...turn, status });
    this.sessions.update(tx, { ...session, status });
  }

  #append(tx: Writer, kind: EventKind, turn: Turn, payload: Record<string, unknown>): void {
    this.#log.append(tx, { kind, session_id: turn.session_id, turn_id: turn.turn_id, payload });
  }
}
