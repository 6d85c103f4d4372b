import type { Approval, decideApproval } from '../api/approvals.ts';
import type { BodyOf } from '../api/endpoint.ts';
import type {
  createSession,
  InputItem,
  sendTurn,
  Session,
  StoredInputItem,
  Turn,
} from '../api/sessions.ts';
import { AppError } from '../errors.ts';
import { type Keep, keepNothing } from '../store/kept-answers.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import {
  type Agent,
  type AgentAnswer,
  type AgentRequest,
  type Provider,
  ProviderError,
  type TurnSettings,
} from '../providers/provider.ts';
import type { Writer } from '../store/transaction.ts';
import type { AgentPool } from './agent-pool.ts';
import { assertAnswers } from './answers.ts';
import { decisionOf, type Resolution } from './approval.ts';
import type { ApprovalDesk } from './approval-desk.ts';
import type { Blobs } from './blobs.ts';
import type { Inbox } from './inbox.ts';
import { SessionQueries, type SessionQueriesDependencies } from './queries.ts';
import {
  assertNotClosed,
  assertTakesTurn,
  beginTurn,
  closedSession,
  knownSession,
} from './session.ts';
import { settingsOf, wishesOf } from './settings.ts';
import { hasEnded, newTurn } from './turn.ts';
import type { TurnRunner } from './turn-runner.ts';
import { workingDirectory } from './working-directory.ts';

/** The request that opens a session. */
export type NewSession = BodyOf<typeof createSession>;

interface SessionServiceDependencies extends SessionQueriesDependencies {
  runner: TurnRunner;
  pool: AgentPool;
  desk: ApprovalDesk;
  inbox: Inbox;
  blobs: Blobs;
  clock: Clock;
  ids: Ids;
  /** Runs in the transaction that closes a session, before it is written: its claims and processes end. */
  onClosing: (tx: Writer, session: Session) => void;
  /** Runs in the transaction that accepts a turn from outside. */
  onSpokenTo: (tx: Writer, session: Session) => void;
  /** Throws `storage_full` where there is no room for new work. */
  assertRoom: () => void;
  /** The provider of that id. Throws `provider_unavailable` where it could start no agent. */
  usableProvider: (id: Session['provider']) => Provider;
  /** Why no agent of a provider could run with the settings; nothing where that is not known without an agent. */
  objectionOf: (
    id: Session['provider'],
    settings: TurnSettings,
  ) => ProviderError | null | undefined;
}

/** What can be done with sessions. Each answer and each refusal is given once the rows it came from are on disk. */
export class SessionService extends SessionQueries {
  readonly #given: SessionServiceDependencies;

  constructor(given: SessionServiceDependencies) {
    super(given);
    this.#given = given;
  }

  /** Opens a session; its agent starts with the first turn. */
  async create(body: NewSession, keep: Keep = keepNothing): Promise<Session> {
    const session = this.draft(body);
    await this.#given.db.transact((tx) => {
      this.#given.store.createSession(tx, session);
      keep(tx, session);
    });
    return session;
  }

  /** The record of a session before it is stored. Throws where it could not be opened, as far as that is cheap to check. */
  draft(body: NewSession): Session {
    const cwd = workingDirectory(body.cwd);
    this.#given.usableProvider(body.provider);
    this.#given.assertRoom();
    const wishes = wishesOf(body);
    this.#assertPossible(body.provider, settingsOf(wishes, wishes));
    const now = this.#given.clock.now();
    return {
      id: this.#given.ids.next('sess'),
      provider: body.provider,
      model: wishes.model,
      cwd,
      permission_mode: wishes.permission_mode,
      thinking_effort: wishes.thinking_effort,
      metadata: body.metadata ?? null,
      title: body.title ?? null,
      status: 'ready',
      active_turn_id: null,
      last_turn_id: null,
      provider_session_ref: null,
      provider_defaults: null,
      worktree_id: null,
      usage: null,
      close_reason: null,
      failure: null,
      created_at: now,
      updated_at: now,
      closed_at: null,
      trimmed: false,
    };
  }

  /** Accepts a turn, in the transaction that checks whether the session takes one: of two senders one wins. */
  async send(
    sessionId: string,
    body: BodyOf<typeof sendTurn>,
    keep: Keep = keepNothing,
  ): Promise<Turn> {
    this.#checkWishes(sessionId, body);
    const items: InputItem[] = Array.isArray(body.input) ? body.input : [body.input];
    const directoryOf = async () => (await this.get(sessionId)).cwd;
    const input = await this.#given.blobs.keep(items, directoryOf);
    return this.#given.db.transact((tx) => {
      const session = this.#given.store.session(tx, sessionId);
      assertTakesTurn(session, body.expected_turn_id);
      const turn = this.#newTurn(sessionId, input, body);
      this.#given.store.acceptTurn(tx, beginTurn(session, turn, turn.accepted_at), turn);
      this.#given.inbox.wake(tx, sessionId);
      this.#given.onSpokenTo(tx, session);
      keep(tx, acceptance(turn));
      tx.whenDurable(() => this.#given.runner.start(turn));
      return turn;
    });
  }

  /** Asks for a turn to end. It ends interrupted, unless its own end was stored first. Throws `turn_not_active`. */
  interrupt(sessionId: string, turnId: string, keep: Keep = keepNothing): Promise<Turn> {
    return this.#given.db.transact((tx) => {
      const turn = this.#given.store.turn(tx, sessionId, turnId);
      if (hasEnded(turn))
        throw new AppError('turn_not_active', `turn ${turnId} has ended: it is ${turn.status}`);
      const asked = this.#stopTurn(tx, turn);
      keep(tx, asked);
      return asked;
    });
  }

  /**
   * Asks for the turn that a session is at to end, as {@link interrupt} does; its agent hears of it once the transaction
   * is on disk. False where the session is at no turn.
   */
  requestInterrupt(tx: Writer, sessionId: string): boolean {
    const turn = this.#given.store.activeTurn(tx, sessionId);
    if (turn) this.#stopTurn(tx, turn);
    return turn !== undefined;
  }

  /** Ends a turn for a person: what waits for the session becomes no turn until somebody sends it one. */
  #stopTurn(tx: Writer, turn: Turn): Turn {
    this.#given.inbox.rest(tx, turn.session_id);
    return this.#given.runner.requestInterrupt(tx, turn);
  }

  /** Closes a session with its turn, inbox, claims and processes, in one transaction; its agent is ended after that. */
  close(sessionId: string, reason: string | null, keep: Keep = keepNothing): Promise<Session> {
    return this.#given.db.transact((tx) => {
      const session = this.#given.store.session(tx, sessionId);
      const closed = session.status === 'closed' ? session : this.#close(tx, session, reason);
      keep(tx, closed);
      return closed;
    });
  }

  #close(tx: Writer, session: Session, reason: string | null): Session {
    const { store, runner, inbox, pool, clock, onClosing } = this.#given;
    const turn = store.activeTurn(tx, session.id);
    if (turn) runner.endNow(tx, turn, { status: 'interrupted', error: null }, { isLast: true });
    inbox.giveUp(tx, { ...session, status: 'closed' });
    onClosing(tx, session);
    const closed = closedSession(store.session(tx, session.id), reason, clock.now());
    store.updateSession(tx, closed, 'session.closed');
    tx.whenDurable(() => void pool.end(session.id));
    return closed;
  }

  /**
   * Makes a failed session ready again. Throws `session_failed` where its provider does not have it any more. A session
   * that has not failed is returned as it is.
   */
  async resume(sessionId: string, keep: Keep = keepNothing): Promise<Session> {
    const session = await this.get(sessionId);
    assertNotClosed(session);
    if (session.status !== 'failed') return session;
    if (!(await this.#providerHas(session))) {
      throw new AppError(
        'session_failed',
        `${session.provider} does not have session ${sessionId} any more: open a new one`,
      );
    }
    return this.#given.db.transact((tx) => {
      const now = this.#given.store.session(tx, sessionId);
      if (now.status !== 'failed') return now;
      const ready: Session = {
        ...now,
        status: 'ready',
        failure: null,
        updated_at: this.#given.clock.now(),
      };
      this.#given.store.updateSession(tx, ready, 'session.resumed');
      this.#given.inbox.look(tx, sessionId);
      keep(tx, ready);
      return ready;
    });
  }

  async #providerHas(session: Session): Promise<boolean> {
    const provider = this.#given.usableProvider(session.provider);
    const known = knownSession(session);
    if (known === null) return true;
    if (!provider.capabilities.resume) return false;
    try {
      const asking = () => provider.has(known, new AbortController().signal);
      return (await this.#given.pool.whileIdle(session.id, asking)) ?? true;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      throw new AppError('provider_unavailable', error.message, { cause: error });
    }
  }

  /**
   * Opens an approval in the active turn of a session, as its agent would, and waits for the answer; `cancelled` where
   * the session is at no turn. Throws `too_many` where too many approvals of the session are pending.
   */
  ask(sessionId: string, request: AgentRequest, withdrawn: AbortSignal): Promise<AgentAnswer> {
    return this.#given.runner.ask(sessionId, request, withdrawn);
  }

  /**
   * Answers an approval. The first answer wins; the turn goes on, also after a restart. `by` is the id of the token
   * that the answer came with.
   */
  async decide(
    sessionId: string,
    approvalId: string,
    body: BodyOf<typeof decideApproval>,
    by: string,
    keep: Keep = keepNothing,
  ): Promise<Approval> {
    const status = decisionOf(body.decision);
    const answers = body.answers ?? null;
    return this.#resolve(sessionId, approvalId, keep, (approval) => {
      const isOpen = approval.status === 'pending';
      if (isOpen && status === 'accepted') assertAnswers(approval, answers);
      return { status, decidedBy: by, reason: body.reason ?? null, answers };
    });
  }

  /** Expires an approval that nobody answered in time: its agent sees it as declined. */
  async expire(approval: Approval): Promise<void> {
    await this.#resolve(approval.session_id, approval.id, keepNothing, (now) =>
      now.status === 'pending' ? { status: 'expired', reason: null } : null,
    );
  }

  #resolve(
    sessionId: string,
    approvalId: string,
    keep: Keep,
    resolutionOf: (approval: Approval) => Resolution | null,
  ): Promise<Approval> {
    return this.#given.db.transact((tx) => {
      const approval = this.#given.store.approval(tx, sessionId, approvalId);
      const resolution = resolutionOf(approval);
      if (!resolution) return approval;
      const resolved = this.#given.desk.resolve(tx, approval, resolution);
      const turn = this.#given.store.turn(tx, sessionId, approval.turn_id);
      this.#goOnWithoutAgent(tx, turn, resolved);
      keep(tx, resolved);
      return resolved;
    });
  }

  /**
   * Moves on a turn that waits without an agent since a restart: where its approval was not accepted, the turn ends; else
   * it starts again once none of its approvals is pending. A turn with an agent goes on by itself.
   */
  #goOnWithoutAgent(tx: Writer, turn: Turn, { status }: Approval): void {
    const { store, runner } = this.#given;
    if (turn.provider_turn_ref !== null || hasEnded(turn)) return;
    if (status !== 'accepted') runner.endNow(tx, turn, { status: 'interrupted', error: null });
    else if (store.pendingApprovals(tx, turn.turn_id).length === 0)
      tx.whenDurable(() => runner.start(turn));
  }

  /** Throws where there is no room for a turn, or its provider is known not to take it, before anything is stored. */
  #checkWishes(sessionId: string, body: BodyOf<typeof sendTurn>): void {
    // Only fields that never change are read, so the read need not wait. A session that is not there is refused later.
    const session = this.#given.db.peek((rx) => this.#given.store.sessions.get(rx, sessionId));
    if (!session) return;
    this.#given.assertRoom();
    const hasImages = Array.isArray(body.input) ? body.input.some(isImage) : isImage(body.input);
    if (hasImages && !this.#given.usableProvider(session.provider).capabilities.images) {
      throw new AppError('invalid', `${session.provider} accepts no images`);
    }
    const agent = this.#given.pool.find(sessionId)?.agent;
    this.#assertPossible(session.provider, settingsOf(session, wishesOf(body)), agent);
  }

  /** Throws `invalid` for settings that no agent could run with. */
  #assertPossible(provider: Session['provider'], settings: TurnSettings, agent?: Agent): void {
    const objection = agent?.objection(settings) ?? this.#given.objectionOf(provider, settings);
    if (objection) throw new AppError('invalid', objection.message);
  }

  #newTurn(sessionId: string, input: StoredInputItem[], body: BodyOf<typeof sendTurn>): Turn {
    return newTurn({
      session_id: sessionId,
      turn_id: this.#given.ids.next('turn'),
      source: 'user',
      input,
      ...wishesOf(body),
      accepted_at: this.#given.clock.now(),
    });
  }
}

/** The answer to the sender of a turn. */
export function acceptance({ session_id, turn_id }: Turn): {
  session_id: string;
  turn_id: string;
  status: 'accepted';
} {
  return { session_id, turn_id, status: 'accepted' };
}

function isImage(item: InputItem): boolean {
  return item.type === 'image';
}
