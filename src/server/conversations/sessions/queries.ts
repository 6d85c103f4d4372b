import type { Approval, listApprovals } from '../../../api/approvals.ts';
import type { QueryOf } from '../../../api/endpoint.ts';
import type { AgentCommand } from '../../../api/commands.ts';
import type { listSessions } from '../../../api/session-requests.ts';
import type { Item, Session, Turn } from '../../../api/sessions.ts';
import { notFoundError } from '../../../api/errors.ts';
import type { Database } from '../../../core/store/database.ts';
import type { RecordPage } from '../../../core/store/records.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import type { Modes } from './permission-mode.ts';
import { lastTurnOf, noLastTurn } from './session.ts';
import { settingsOf } from './settings.ts';
import type { SessionStore } from './store.ts';

type ApprovalFilter = Omit<QueryOf<typeof listApprovals>, 'status'> & {
  status?: Approval['status'] | undefined;
};

export interface SessionQueriesDeps {
  db: Database;
  store: SessionStore;
  /** Returns the ids of the sessions in a team. Throws `not_found`. */
  teams: { agentsOf: (rx: Reader, teamId: string) => readonly string[] };
}

/** The reads of sessions. Results are returned once they are on disk. Each throws `not_found` for an unknown id. */
export class SessionQueries {
  readonly #deps: SessionQueriesDeps;

  constructor(deps: SessionQueriesDeps) {
    this.#deps = deps;
  }

  get(id: string): Promise<Session> {
    return this.#deps.db.read((rx) => this.#withLastTurn(rx, this.#deps.store.session(rx, id)));
  }

  list(query: QueryOf<typeof listSessions>): Promise<RecordPage<Session>> {
    const { status, provider, team_id, limit, cursor } = query;
    return this.#deps.db.read((rx) => {
      const id = team_id === undefined ? undefined : this.#deps.teams.agentsOf(rx, team_id);
      const page = this.#deps.store.sessions.page(rx, { status, provider, id }, limit, cursor);
      return { ...page, records: page.records.map((one) => this.#withLastTurn(rx, one)) };
    });
  }

  /** Sessions of older versions get the status of their last turn from that turn, until their next turn ends. */
  #withLastTurn(rx: Reader, session: Session): Session {
    if (session.last_turn_status !== undefined) return session;
    const turn =
      session.last_turn_id === null
        ? undefined
        : this.#deps.store.turns.get(rx, session.last_turn_id);
    return { ...session, ...(turn ? lastTurnOf(turn) : noLastTurn) };
  }

  commands(sessionId: string): Promise<AgentCommand[]> {
    return this.#deps.db.read((rx) => this.#deps.store.commands(rx, sessionId));
  }

  turn(sessionId: string, turnId: string): Promise<Turn> {
    return this.#deps.db.read((rx) => this.#deps.store.turn(rx, sessionId, turnId));
  }

  turns(
    sessionId: string,
    { limit, cursor }: { limit: number; cursor?: string | undefined },
  ): Promise<RecordPage<Turn>> {
    return this.#deps.db.read((rx) => {
      this.#deps.store.session(rx, sessionId);
      return this.#deps.store.turns.page(rx, { session_id: sessionId }, limit, cursor);
    });
  }

  items(sessionId: string, turnId: string): Promise<Item[]> {
    return this.#deps.db.read((rx) => {
      this.#deps.store.turn(rx, sessionId, turnId);
      return this.#deps.store.itemsOf(rx, turnId);
    });
  }

  item(sessionId: string, turnId: string, itemId: string): Promise<Item> {
    return this.#deps.db.read((rx) => {
      this.#deps.store.turn(rx, sessionId, turnId);
      const item = this.#deps.store.items.get(rx, itemId);
      if (item?.turn_id === turnId) return item;
      throw notFoundError(`turn "${turnId}" has no item "${itemId}"`);
    });
  }

  approval(sessionId: string, approvalId: string): Promise<Approval> {
    return this.#deps.db.read((rx) => this.#deps.store.approval(rx, sessionId, approvalId));
  }

  approvals({ status, session_id, limit, cursor }: ApprovalFilter): Promise<RecordPage<Approval>> {
    return this.#deps.db.read((rx) => {
      if (session_id !== undefined) this.#deps.store.session(rx, session_id);
      return this.#deps.store.approvals.page(rx, { status, session_id }, limit, cursor);
    });
  }

  /** Returns the modes of the active turn, else of the session. A person can be asked in a turn without an interrupt. */
  permission(sessionId: string): Promise<Modes & { canAsk: boolean }> {
    return this.#deps.db.read((rx) => {
      const session = this.#deps.store.session(rx, sessionId);
      const turn = this.#deps.store.activeTurn(rx, sessionId);
      const { permissionMode, agentMode } = settingsOf(session, turn ?? session);
      return { mode: permissionMode, agentMode, canAsk: turn?.interrupt_requested_at === null };
    });
  }
}
