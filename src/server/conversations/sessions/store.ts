import type { DescribedEvent, KindIn } from '../../../api/events.ts';
import type { Approval } from '../../../api/approvals.ts';
import type { AgentCommand } from '../../../api/commands.ts';
import type { McpServer } from '../../../api/mcp-servers.ts';
import type { Item, Session, Turn, Usage } from '../../../api/sessions.ts';
import { notFoundError } from '../../../api/errors.ts';
import type { EventBody } from '../../../core/events/event.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { Database } from '../../../core/store/database.ts';
import { EmptyKeys } from '../../../core/store/empty-keys.ts';
import { RecordTable } from '../../../core/store/records.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import { approvalInEvents, withoutContent } from '../approvals/approval.ts';
import { sessionInEvents } from './session.ts';
import { hasEnded, type TurnEnd, turnInEvents } from './turn.ts';
import { TurnUsage } from './turn-usage.ts';

/** The rows of sessions, turns, items and approvals. Each change is written with its event, in one transaction. */
export class SessionStore {
  readonly sessions: RecordTable<Session>;
  readonly turns: RecordTable<Turn>;
  readonly items: RecordTable<Item>;
  readonly approvals: RecordTable<Approval>;
  readonly usage: TurnUsage;
  readonly #withoutApprovals: EmptyKeys;
  readonly #mcpServers: RecordTable<{ session_id: string; servers: readonly McpServer[] }>;
  readonly #log: EventLog;
  readonly #commands: Statement<[commands: string]>;
  readonly #setCommands: Statement;
  readonly #dropCommands: Statement;
  readonly #countTurns: Statement<[number]>;

  constructor({ db, log }: { db: Database; log: EventLog }) {
    this.#log = log;
    this.#commands = db.prepare('SELECT commands FROM session_commands WHERE session_id = ?');
    this.#setCommands = db.prepare(
      'INSERT OR REPLACE INTO session_commands (session_id, commands) VALUES (?, ?)',
    );
    this.#dropCommands = db.prepare('DELETE FROM session_commands WHERE session_id = ?');
    this.#countTurns = db.prepare(
      'SELECT count(*) FROM turns WHERE session_id = ? AND n <= coalesce((SELECT n FROM turns WHERE id = ?), n)',
    );
    this.sessions = new RecordTable(db, 'sessions', (session) => session.id, { keeps: true });
    this.turns = new RecordTable(db, 'turns', (turn) => turn.turn_id, { keeps: true });
    this.items = new RecordTable(db, 'items', (item) => item.item_id);
    this.approvals = new RecordTable(db, 'approvals', (approval) => approval.id);
    this.#withoutApprovals = new EmptyKeys(db, 'approvals', 'turn_id');
    this.usage = new TurnUsage(db);
    this.#mcpServers = new RecordTable(db, 'session_mcp_servers', ({ session_id }) => session_id);
  }

  /** Returns a session. Throws `not_found`. */
  session(rx: Reader, id: string): Session {
    return this.sessions.require(rx, id, 'session');
  }

  /** Returns a turn of the session. Throws `not_found`, also for another session's turn. */
  turn(rx: Reader, sessionId: string, turnId: string): Turn {
    this.session(rx, sessionId);
    const turn = this.turns.get(rx, turnId);
    if (turn?.session_id === sessionId) return turn;
    throw notFoundError(`session "${sessionId}" has no turn "${turnId}"`);
  }

  /** Returns the active turn of a session; undefined if it has none, or the session does not exist. */
  activeTurn(rx: Reader, sessionId: string): Turn | undefined {
    const active = this.sessions.get(rx, sessionId)?.active_turn_id;
    return active ? this.turns.get(rx, active) : undefined;
  }

  /** Returns an approval of the session. Throws `not_found`, also for another session's approval. */
  approval(rx: Reader, sessionId: string, approvalId: string): Approval {
    this.session(rx, sessionId);
    const approval = this.approvals.get(rx, approvalId);
    if (approval?.session_id === sessionId) return approval;
    throw notFoundError(`session "${sessionId}" has no approval "${approvalId}"`);
  }

  /** `servers`: the MCP servers that its agent is given, which no record shows. */
  createSession(tx: Writer, session: Session, servers?: readonly McpServer[] | null): void {
    this.sessions.insert(tx, session);
    if (servers && servers.length > 0)
      this.#mcpServers.insert(tx, { session_id: session.id, servers });
    this.#log.append(tx, { kind: 'session.created', session_id: session.id, payload: { session } });
  }

  mcpServers(rx: Reader, sessionId: string): readonly McpServer[] {
    return this.#mcpServers.get(rx, sessionId)?.servers ?? [];
  }

  /** Writes a session, for a change that no event of its turns carries. */
  updateSession(
    tx: Writer,
    session: Session,
    kind: Exclude<KindIn<'session'>, 'session.created' | 'session.notice'>,
  ): void {
    const seq = tx.nextSeq();
    const written = kind === 'session.failed' ? { ...session, news_seq: seq } : session;
    this.sessions.update(tx, written);
    if (kind === 'session.closed') this.#mcpServers.delete(tx, session.id);
    const payload = { session: sessionInEvents(written) };
    this.#log.append(tx, { kind, session_id: session.id, payload }, seq);
  }

  acceptTurn(tx: Writer, session: Session, turn: Turn): void {
    this.turns.insert(tx, turn);
    this.#withoutApprovals.add(tx, turn.turn_id);
    this.sessions.update(tx, session);
    this.#append(tx, turn, { kind: 'turn.accepted', payload: { turn, title: session.title } });
  }

  /** Writes a turn in its new state, and its session with the status that follows from it. */
  moveTurn(
    tx: Writer,
    session: Session,
    turn: Turn,
    kind: 'turn.started' | 'turn.interrupt_requested',
  ): void {
    this.turns.update(tx, turn);
    this.sessions.update(tx, session);
    this.#append(tx, turn, { kind, payload: { turn: turnInEvents(turn) } });
  }

  /** Writes a turn that has ended, and its session, for which that is news. */
  endTurn(tx: Writer, session: Session, turn: Turn, status: TurnEnd['status']): void {
    this.turns.update(tx, turn);
    this.usage.add(tx, session, turn);
    const { seq } = this.#append(tx, turn, {
      kind: `turn.${status}`,
      payload: { turn: turnInEvents(turn), last_words: session.last_words },
    });
    this.sessions.update(tx, { ...session, news_seq: seq });
  }

  /** Writes a new approval, and turn and session as waiting for it. */
  requestApproval(tx: Writer, session: Session, turn: Turn, approval: Approval): void {
    this.#insertApproval(tx, approval);
    const { seq } = this.#append(tx, turn, { kind: 'approval.requested', payload: { approval } });
    const asked = { ...session, news_seq: seq, last_activity_at: approval.created_at };
    this.#setStatus(tx, asked, turn, 'waiting_for_approval');
  }

  /** Writes an approval that a rule has decided at once. Nobody was asked, so the turn does not change. */
  addRuledApproval(tx: Writer, turn: Turn, approval: Approval): void {
    this.#insertApproval(tx, approval);
    this.#append(tx, turn, {
      kind: 'approval.resolved',
      payload: { approval: approvalInEvents(approval) },
    });
  }

  /** Writes an approval that no turn waits for, because it is about what comes after it: that is news of its session. */
  requestBudgetApproval(tx: Writer, turn: Turn, approval: Approval): void {
    this.#insertApproval(tx, approval);
    const { seq } = this.#append(tx, turn, { kind: 'approval.requested', payload: { approval } });
    this.sessions.update(tx, { ...this.session(tx, approval.session_id), news_seq: seq });
  }

  /** Writes a resolved approval. If the turn has an agent, turn and session run again once none is pending. */
  resolveApproval(tx: Writer, approval: Approval): void {
    const session = this.session(tx, approval.session_id);
    const turn = this.turn(tx, session.id, approval.turn_id);
    this.approvals.update(tx, approval);
    const canContinue =
      turn.provider_turn_ref !== null && this.pendingApprovals(tx, turn.turn_id).length === 0;
    if (canContinue && turn.status === 'waiting_for_approval')
      this.#setStatus(tx, session, turn, 'running');
    this.#append(tx, turn, {
      kind: 'approval.resolved',
      payload: { approval: approvalInEvents(approval) },
    });
  }

  /** Counts a request that was declined without asking a person in the row of its turn; outside a turn there is none. */
  countDeclined(tx: Writer, turnId: string | null): void {
    const turn = turnId === null ? undefined : this.turns.get(tx, turnId);
    if (turn && !hasEnded(turn))
      this.turns.update(tx, { ...turn, declined_unasked: (turn.declined_unasked ?? 0) + 1 });
  }

  /** Writes what more a turn has used, which had ended, and its session with the new sums. */
  amendUsage(tx: Writer, session: Session, turn: Turn & { usage: Usage }): void {
    this.turns.update(tx, turn);
    this.usage.amend(tx, turn);
    this.sessions.update(tx, session);
    this.#append(tx, turn, { kind: 'usage.updated', payload: { usage: turn.usage } });
  }

  /** Returns the slash commands that the agent of a session has reported last. Throws `not_found`. */
  commands(rx: Reader, sessionId: string): AgentCommand[] {
    this.session(rx, sessionId);
    const row = this.#commands.get(rx, sessionId);
    return row ? (JSON.parse(row[0]) as AgentCommand[]) : [];
  }

  /** Writes the slash commands of a session, unless they are the same. */
  setCommands(tx: Writer, sessionId: string, commands: readonly AgentCommand[]): void {
    const text = JSON.stringify(commands);
    const row = this.#commands.get(tx, sessionId);
    if ((row?.[0] ?? '[]') !== text) this.#setCommands.run(tx, sessionId, text);
  }

  /** Returns the approvals that a turn waits for, oldest first. */
  pendingApprovals(rx: Reader, turnId: string): Approval[] {
    if (this.#withoutApprovals.has(rx, turnId)) return [];
    return this.approvals.where(rx, "turn_id = ? AND status = 'pending'", turnId);
  }

  approvalsOf(rx: Reader, turnId: string): Approval[] {
    if (this.#withoutApprovals.has(rx, turnId)) return [];
    return this.approvals.where(rx, 'turn_id = ?', turnId);
  }

  /** Returns the approvals that were accepted for the whole session, oldest first. */
  acceptedForSession(rx: Reader, sessionId: string): Approval[] {
    return this.approvals.where(
      rx,
      "session_id = ? AND status = 'accepted' AND record ->> '$.scope' = 'session'",
      sessionId,
    );
  }

  allPendingApprovals(rx: Reader): Approval[] {
    return this.approvals.where(rx, "status = 'pending'");
  }

  openItems(rx: Reader, turnId: string): Item[] {
    return this.items.where(rx, "turn_id = ? AND status = 'open'", turnId);
  }

  itemsOf(rx: Reader, turnId: string): Item[] {
    return this.items.where(rx, 'turn_id = ?', turnId);
  }

  /** Returns the open items outside any turn, oldest first. */
  openAsides(rx: Reader): Item[] {
    return this.items.where(rx, "turn_id IS NULL AND status = 'open'");
  }

  lastMessage(rx: Reader, turnId: string): string | null {
    return this.itemsOf(rx, turnId).findLast(({ kind }) => kind === 'message')?.text ?? null;
  }

  /** Returns the newest turn of a session whose usage has the size and the tokens of its context. */
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

  /** Returns up to `limit` turns of a session, newest first. */
  newestTurns(rx: Reader, sessionId: string, limit: number): Turn[] {
    const of = { index: 'turns_session', where: 'session_id = ?', order: 'n DESC' };
    return this.turns.first(rx, of, limit, sessionId);
  }

  /** Returns up to `limit` turns that a session had until a turn ended, with this turn, newest first. */
  turnsUpTo(rx: Reader, { session_id, turn_id }: Turn, limit: number): Turn[] {
    const where = 'session_id = ? AND n <= (SELECT n FROM turns WHERE id = ?)';
    const of = { index: 'turns_session', where, order: 'n DESC' };
    return this.turns.first(rx, of, limit, session_id, turn_id);
  }

  newestCompleted(rx: Reader, sessionId: string): Turn | undefined {
    const where = "session_id = ? AND status = 'completed'";
    const of = { index: 'turns_session', where, order: 'n DESC' };
    return this.turns.first(rx, of, 1, sessionId)[0];
  }

  firstTurn(rx: Reader, sessionId: string): Turn | undefined {
    const of = { index: 'turns_session', where: 'session_id = ?', order: 'n' };
    return this.turns.first(rx, of, 1, sessionId)[0];
  }

  /** Returns the number of turns of a session; with `last`, of the turns up to that one. */
  countTurns(rx: Reader, sessionId: string, last: string | null = null): number {
    return this.#countTurns.get(rx, sessionId, last)?.[0] ?? 0;
  }

  /** Returns the approval of a session that was declined last; undefined if there is none. */
  lastDeclined(rx: Reader, sessionId: string): Approval | undefined {
    const where = "session_id = ? AND status = 'declined'";
    const of = { index: 'approvals_session', where, order: 'n DESC' };
    return this.approvals.first(rx, of, 1, sessionId)[0];
  }

  /** Returns the turns that have not ended, oldest first. */
  unfinishedTurns(rx: Reader): Turn[] {
    return this.turns.where(rx, "status IN ('accepted', 'running', 'waiting_for_approval')");
  }

  sessionsWithActiveTurn(rx: Reader): Session[] {
    return this.sessions.where(rx, 'active_turn_id IS NOT NULL');
  }

  busySessions(rx: Reader): Session[] {
    return this.sessions.where(rx, "status IN ('running', 'waiting_for_approval')");
  }

  /** Returns the intact ready sessions that an agent of the provider has seen, oldest first. */
  resumableSessions(rx: Reader, provider: Session['provider']): Session[] {
    return this.sessions.whereIntact(
      rx,
      // The unary plus keeps SQLite off the index by provider, because few of a provider's sessions are ready.
      "status = 'ready' AND +provider = ? AND record ->> '$.provider_session_ref' IS NOT NULL",
      provider,
    ).records;
  }

  /** Returns the sessions of an agent that are not closed, by the ref of their conversation. */
  openRefs(rx: Reader, provider: Session['provider'], agent: string | null): Map<string, string> {
    const open = this.sessions.where(
      rx,
      `status IN ('ready', 'running', 'waiting_for_approval', 'failed') AND +provider = ?
       AND record ->> '$.provider_session_ref' IS NOT NULL`,
      provider,
    );
    const own = open.filter((one) => one.agent === agent);
    return new Map(own.map((one) => [one.provider_session_ref ?? '', one.id]));
  }

  /** Returns the sessions that are not closed and whose `cwd` is the directory or below it. */
  openIn(rx: Reader, directory: string): Session[] {
    return this.sessions.where(
      rx,
      `status IN ('ready', 'running', 'waiting_for_approval', 'failed')
       AND substr(record ->> '$.cwd' || '/', 1, length(?1)) = ?1`,
      `${directory}/`,
    );
  }

  /** Returns the session that has been closed for longest, of those that `isWanted` and that retention has not trimmed whole. */
  oldestTrimmable(rx: Reader, isWanted: (session: Session) => boolean): Session | undefined {
    return this.sessions.firstIntact(
      rx,
      {
        index: 'sessions_trimmable',
        where: "status = 'closed' AND trimmed IS NOT 1",
        order: 'closed_at',
      },
      isWanted,
    );
  }

  /** Deletes input, text and items of up to `limit` turns of a closed session. Returns false once no turn is left. */
  trimTurns(tx: Writer, sessionId: string, limit: number): boolean {
    const turns = this.turns.first(
      tx,
      { index: 'turns_trimmable', where: 'session_id = ? AND trimmed IS NOT 1', order: 'n' },
      limit,
      sessionId,
    );
    for (const turn of turns) {
      this.items.deleteWhere(tx, 'turn_id = ?', turn.turn_id);
      for (const approval of this.approvalsOf(tx, turn.turn_id))
        this.approvals.update(tx, withoutContent(approval));
      this.turns.update(tx, { ...turn, input: [], text: null, trimmed: true });
    }
    if (turns.length === 0)
      this.items.deleteWhere(tx, 'turn_id IS NULL AND session_id = ?', sessionId);
    return turns.length > 0;
  }

  /** Marks a closed session as trimmed whole. */
  markTrimmed(tx: Writer, session: Session): void {
    this.sessions.update(tx, { ...session, last_words: null, trimmed: true });
    this.#dropCommands.run(tx, session.id);
  }

  #insertApproval(tx: Writer, approval: Approval): void {
    this.#withoutApprovals.delete(approval.turn_id);
    this.approvals.insert(tx, approval);
  }

  #setStatus(
    tx: Writer,
    session: Session,
    turn: Turn,
    status: 'running' | 'waiting_for_approval',
  ): void {
    this.turns.update(tx, { ...turn, status });
    this.sessions.update(tx, { ...session, status });
  }

  #append(tx: Writer, { session_id, turn_id }: Turn, body: EventBody): DescribedEvent {
    return this.#log.append(tx, { ...body, session_id, turn_id });
  }
}
