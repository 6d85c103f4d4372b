import { isDeepStrictEqual } from 'node:util';
import type { Approval, decideApproval } from '../../../api/approvals.ts';
import type { BodyOf } from '../../../api/endpoint.ts';
import type { createSession } from '../../../api/session-requests.ts';
import type { Session, Turn } from '../../../api/sessions.ts';
import type { sendTurn } from '../../../api/turns.ts';
import { AppError, invalidError } from '../../../api/errors.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import { type Agent, ProviderError, type TurnSettings } from '../../../agents/provider.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import type { AgentPool } from './agent-pool.ts';
import type { AgentKinds } from './agent-slots.ts';
import {
  assertAnswers,
  assertOffered,
  decisionOf,
  type Resolution,
} from '../approvals/approval.ts';
import type { ApprovalBroker } from '../approvals/approval-broker.ts';
import type { Blobs } from './blobs.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { SessionObserver } from './observer.ts';
import { SessionQueries, type SessionQueriesDeps } from './queries.ts';
import {
  assertNotClosed,
  assertAcceptsTurn,
  beginTurn,
  changeSession,
  closedSession,
  knownSession,
  newSession,
  type SessionChange,
  titleOfPerson,
} from './session.ts';
import {
  assertImages,
  assertMcpServers,
  requestedSettings,
  settingsOf,
  withOwnSettings,
} from './settings.ts';
import { assertHandoff } from './named-agent.ts';
import { acceptance, hasEnded, newTurn } from './turn.ts';
import type { TurnRunner } from './turn-runner.ts';
import { workingDirectory } from './working-directory.ts';
import type { InputItem, StoredInputItem } from '../../../api/input.ts';

export type NewSession = Omit<BodyOf<typeof createSession>, 'worktree' | 'import'>;

type Served = Pick<Session, 'provider' | 'agent'>;

const EXPIRED: Resolution = { status: 'expired', reason: null };

interface SessionServiceDeps extends SessionQueriesDeps, Pick<ServerParts, 'clock' | 'ids'> {
  runner: TurnRunner;
  pool: AgentPool;
  broker: ApprovalBroker;
  inbox: Inbox;
  blobs: Blobs;
  observer: SessionObserver;
  limits: {
    turnSent: (tx: Writer, sessionId: string) => void;
    /** Runs in the transaction in which a person chooses what a session does after a usage limit. */
    chosen: (tx: Writer, session: Session) => void;
  };
  /** Throws `budget_reached` if a budget lets no turn of a session begin. */
  budgets: { assertFree: (rx: Reader, sessionId: string) => void };
  /** Throws `conflict` if another program has the conversation of a session open. */
  imports: { assertFree: (session: Session) => Promise<void> };
  /** Throws `storage_full` if there is no room for new work. */
  assertRoom: () => void;
  kinds: AgentKinds;
}

/** The use-cases of sessions. Each resolves or rejects once the rows that its result was read from are on disk. */
export class SessionService extends SessionQueries {
  readonly #deps: SessionServiceDeps;

  constructor(deps: SessionServiceDeps) {
    super(deps);
    this.#deps = deps;
    deps.broker.onExpired((tx, approval) => this.#expire(tx, approval));
  }

  async create(body: NewSession, saveResponse?: SaveResponse): Promise<Session> {
    const session = await this.draft(body);
    return this.#deps.db.transact((tx) => {
      this.#deps.store.createSession(tx, session, body.mcp_servers);
      return session;
    }, saveResponse);
  }

  /** Returns the record of a new session, not stored yet. Throws if a cheap check shows that it cannot be opened. */
  async draft(body: NewSession): Promise<Session> {
    const cwd = await workingDirectory(body.cwd);
    const { provider } = body;
    assertMcpServers(provider, body.mcp_servers ?? []);
    const agent = this.#deps.kinds.agentFor(provider, body.agent ?? null);
    const { asks } = this.#deps.kinds.usable(provider, agent);
    this.#deps.assertRoom();
    const requested = requestedSettings(body);
    this.#assertPossible({ provider, agent }, settingsOf(requested, requested));
    assertHandoff({ provider, agent }, body.after_limit, this.#deps.kinds);
    return newSession({
      id: this.#deps.ids.next('sess'),
      provider,
      agent,
      agent_asks: asks ?? null,
      cwd,
      ...requested,
      metadata: body.metadata ?? null,
      title: body.title == null ? null : titleOfPerson(body.title),
      after_limit: body.after_limit ?? null,
      sandbox: body.sandbox ?? null,
      created_at: this.#deps.clock.now(),
    });
  }

  /** Changes a session. Throws `invalid` for a `seen_seq` that no event can have, and for settings that agents refuse. */
  update(sessionId: string, change: SessionChange): Promise<Session> {
    const { db, store, clock } = this.#deps;
    return db.transact((tx) => {
      const before = store.session(tx, sessionId);
      const after = changeSession(before, change, { now: clock.now(), newestSeq: tx.lastSeq });
      if (after === before) return after;
      this.#changeSettings(tx, before, after);
      if (change.after_limit !== undefined)
        assertHandoff(before, change.after_limit, this.#deps.kinds);
      store.updateSession(tx, after, 'session.updated');
      if (after.after_limit !== before.after_limit) this.#deps.limits.chosen(tx, after);
      return store.session(tx, sessionId);
    });
  }

  /** Checks changed settings of a session, and keeps the active turn as it is: agents take settings between turns. */
  #changeSettings(tx: Writer, before: Session, after: Session): void {
    const settings = settingsOf(after, after);
    if (isDeepStrictEqual(settings, settingsOf(before, before))) return;
    this.#assertPossible(before, settings, this.#deps.pool.find(before.id)?.agent);
    const turn = this.#deps.store.activeTurn(tx, before.id);
    if (turn) this.#deps.store.turns.update(tx, withOwnSettings(before, turn));
  }

  /** Accepts a turn, in the transaction that checks whether the session is free, so that one of two senders wins. */
  async send(
    sessionId: string,
    body: BodyOf<typeof sendTurn>,
    saveResponse?: SaveResponse,
  ): Promise<Turn> {
    const input = await this.prepareInput(sessionId, body);
    const before = this.#deps.db.peek((rx) => this.#deps.store.sessions.get(rx, sessionId));
    if (before?.imported) await this.#deps.imports.assertFree(before);
    return this.#deps.db.transact((tx) => {
      const session = this.#deps.store.session(tx, sessionId);
      assertAcceptsTurn(session, body.expected_turn_id);
      const turn = this.sendNow(tx, session, { source: 'user', input, ...requestedSettings(body) });
      saveResponse?.(tx, acceptance(turn));
      return turn;
    });
  }

  /** Accepts a turn that a user causes, in a session that is free. Throws `budget_reached`. */
  sendNow(
    tx: Writer,
    session: Session,
    fields: Pick<Turn, 'source' | 'input'> & Partial<ReturnType<typeof requestedSettings>>,
  ): Turn {
    const { store, ids, clock, inbox, limits, observer, runner, budgets } = this.#deps;
    const { id: session_id } = session;
    budgets.assertFree(tx, session_id);
    const about = { session_id, turn_id: ids.next('turn'), accepted_at: clock.now() };
    const turn = newTurn({ ...about, ...fields });
    store.acceptTurn(tx, beginTurn(session, turn, turn.accepted_at), turn);
    inbox.turnSent(tx, turn);
    limits.turnSent(tx, session_id);
    observer.turnSent?.(tx, session);
    runner.accepted(tx, session, turn);
    return turn;
  }

  /** Returns the input as it is stored, with its images copied. Throws if there is no room, or the provider refuses it. */
  async prepareInput(
    sessionId: string,
    body: Omit<BodyOf<typeof sendTurn>, 'expected_turn_id'>,
  ): Promise<StoredInputItem[]> {
    this.#assertPossibleTurn(sessionId, body);
    const items: InputItem[] = Array.isArray(body.input) ? body.input : [body.input];
    const directoryOf = async () => (await this.get(sessionId)).cwd;
    return this.#deps.blobs.copyImages(items, directoryOf);
  }

  /** Interrupts a turn. It ends as interrupted, unless its own end was stored first. Throws `turn_not_active`. */
  interrupt(sessionId: string, turnId: string, saveResponse?: SaveResponse): Promise<Turn> {
    return this.#deps.db.transact((tx) => {
      const turn = this.#deps.store.turn(tx, sessionId, turnId);
      if (hasEnded(turn))
        throw new AppError(
          'turn_not_active',
          `turn ${turnId} has already ended with status ${turn.status}`,
        );
      return this.#stopTurn(tx, turn);
    }, saveResponse);
  }

  /** Interrupts the active turn, as {@link interrupt} does. Returns false if the session has no active turn. */
  requestInterrupt(tx: Writer, sessionId: string): boolean {
    const turn = this.#deps.store.activeTurn(tx, sessionId);
    if (turn) this.#stopTurn(tx, turn);
    return turn !== undefined;
  }

  /** Interrupts a turn for a person, and pauses the session's inbox until somebody sends the session a turn. */
  #stopTurn(tx: Writer, turn: Turn): Turn {
    this.#deps.inbox.holds.pause(tx, turn.session_id);
    return this.#deps.runner.requestInterrupt(tx, turn);
  }

  /** Closes a session with its turn, inbox, claims and processes in one transaction. Its agent is ended after that. */
  close(sessionId: string, reason: string | null, saveResponse?: SaveResponse): Promise<Session> {
    return this.#deps.db.transact((tx) => {
      const session = this.#deps.store.session(tx, sessionId);
      return session.status === 'closed' ? session : this.closeNow(tx, session, reason);
    }, saveResponse);
  }

  closeNow(tx: Writer, session: Session, reason: string | null): Session {
    const { store, runner, inbox, pool, clock, observer } = this.#deps;
    const turn = store.activeTurn(tx, session.id);
    if (turn) runner.endNow(tx, turn, { status: 'interrupted', error: null }, { isLast: true });
    inbox.giveUp(tx, { ...session, status: 'closed' });
    observer.closing?.(tx, session);
    const closed = closedSession(store.session(tx, session.id), reason, clock.now());
    store.updateSession(tx, closed, 'session.closed');
    tx.whenDurable(() => void pool.end(session.id));
    return closed;
  }

  /** Makes a failed session ready again. Throws `session_failed` if its provider no longer has the session. */
  async resume(sessionId: string, saveResponse?: SaveResponse): Promise<Session> {
    const session = await this.get(sessionId);
    assertNotClosed(session);
    if (session.status !== 'failed') return session;
    if (!(await this.#providerHas(session))) {
      throw new AppError(
        'session_failed',
        `provider ${session.provider} no longer stores session ${sessionId}: open a new session`,
      );
    }
    return this.#deps.db.transact((tx) => {
      const now = this.#deps.store.session(tx, sessionId);
      if (now.status !== 'failed') return now;
      const updated_at = this.#deps.clock.now();
      const ready: Session = { ...now, status: 'ready', failure: null, updated_at };
      this.#deps.store.updateSession(tx, ready, 'session.resumed');
      this.#deps.inbox.takeBack(tx, sessionId);
      saveResponse?.(tx, ready);
      return ready;
    });
  }

  async #providerHas(session: Session): Promise<boolean> {
    const kind = this.#deps.kinds.usable(session.provider, session.agent);
    const providerSession = knownSession(session);
    if (providerSession === null) return true;
    if (!kind.capabilities.resume) return false;
    try {
      const has = () => kind.has(providerSession, new AbortController().signal);
      return (await this.#deps.pool.whileIdle(session.id, has)) ?? true;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      throw new AppError('provider_unavailable', error.message, { cause: error });
    }
  }

  /** Answers an approval. The first answer wins. `by` is the id of the token of the request. */
  async decide(
    sessionId: string,
    approvalId: string,
    body: BodyOf<typeof decideApproval>,
    by: string,
    saveResponse?: SaveResponse,
  ): Promise<Approval> {
    const status = decisionOf(body.decision);
    const scope = body.scope ?? 'once';
    const answers = body.answers ?? null;
    const resolutionOf = (approval: Approval): Resolution => {
      if (approval.status === 'pending' && status === 'accepted') {
        assertOffered(approval, scope);
        assertAnswers(approval, answers);
      }
      return { status, scope, decidedBy: by, reason: body.reason ?? null, answers };
    };
    return this.#resolve(sessionId, approvalId, resolutionOf, saveResponse);
  }

  /** Expires an approval that nobody answered in time. Its agent receives a decline. */
  #expire(tx: Writer, { session_id, id }: Approval): void {
    const { broker, store } = this.#deps;
    const approval = store.approval(tx, session_id, id);
    if (approval.status === 'pending' && !broker.isClosed) this.#resolveNow(tx, approval, EXPIRED);
  }

  async #resolve(
    sessionId: string,
    approvalId: string,
    resolutionOf: (approval: Approval) => Resolution,
    saveResponse?: SaveResponse,
  ): Promise<Approval> {
    const { db, broker, store } = this.#deps;
    let isLate = false;
    const result = await db.transact((tx) => {
      const approval = store.approval(tx, sessionId, approvalId);
      const resolution = resolutionOf(approval);
      isLate = broker.isLate(approval, resolution);
      const resolved = this.#resolveNow(tx, approval, isLate ? EXPIRED : resolution);
      if (!isLate) saveResponse?.(tx, resolved);
      return resolved;
    });
    if (!isLate) return result;
    throw new AppError(
      'approval_resolved',
      `approval ${approvalId} has expired: send the request again`,
    );
  }

  #resolveNow(tx: Writer, approval: Approval, resolution: Resolution): Approval {
    const { broker, store } = this.#deps;
    const resolved = broker.resolve(tx, approval, resolution);
    const turn = store.turn(tx, approval.session_id, approval.turn_id);
    this.#continueWithoutAgent(tx, turn, resolved);
    return resolved;
  }

  /** Continues a turn without an agent since a restart once no approval is pending; it ends if one was not accepted. */
  #continueWithoutAgent(tx: Writer, turn: Turn, { status }: Approval): void {
    const { store, runner } = this.#deps;
    if (turn.provider_turn_ref !== null || hasEnded(turn)) return;
    if (status !== 'accepted') runner.endNow(tx, turn, { status: 'interrupted', error: null });
    else if (store.pendingApprovals(tx, turn.turn_id).length === 0)
      tx.whenDurable(() => runner.start(turn));
  }

  /** Throws, before anything is stored, if there is no room for a turn or its provider is known to refuse it. */
  #assertPossibleTurn(
    sessionId: string,
    body: Omit<BodyOf<typeof sendTurn>, 'expected_turn_id'>,
  ): void {
    // A peek is enough: the agent judges the settings again. An unknown session is refused later.
    const session = this.#deps.db.peek((rx) => this.#deps.store.sessions.get(rx, sessionId));
    if (!session) return;
    this.#deps.assertRoom();
    const { provider, agent: kind } = session;
    const isSupported = () => this.#deps.kinds.usable(provider, kind).capabilities.images;
    assertImages(provider, body.input, isSupported);
    const agent = this.#deps.pool.find(sessionId)?.agent;
    this.#assertPossible(session, settingsOf(session, requestedSettings(body)), agent);
  }

  /** Throws `invalid` for settings that the live agent, or without one its kind, refuses. */
  #assertPossible({ provider, agent }: Served, settings: TurnSettings, live?: Agent): void {
    const objection =
      live?.objection(settings) ?? this.#deps.kinds.objection(provider, agent, settings);
    if (objection) throw invalidError(objection.message);
  }
}
