import type { Approval, decideApproval, listApprovals } from '../api/approvals.ts';
import type { BodyOf, QueryOf } from '../api/endpoint.ts';
import type {
  createSession,
  InputItem,
  Item,
  listSessions,
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
import type { Database } from '../store/database.ts';
import type { RecordPage } from '../store/records.ts';
import type { AgentPool } from './agent-pool.ts';
import { assertAnswers } from './answers.ts';
import { decisionOf, type Resolution } from './approval.ts';
import type { ApprovalDesk } from './approval-desk.ts';
import type { Blobs } from './blobs.ts';
import type { Inbox } from './inbox.ts';
import {
  assertNotClosed,
  assertTakesTurn,
  beginTurn,
  closedSession,
  knownSession,
} from './session.ts';
import type { SessionStore } from './store.ts';
import { hasEnded, newTurn } from './turn.ts';
import { settingsOf, type TurnRunner } from './turn-runner.ts';
import { workingDirectory } from './working-directory.ts';

/** What is said of a session that is to be opened. */
export type NewSession = BodyOf<typeof createSession>;

type ApprovalFilter = Omit<QueryOf<typeof listApprovals>, 'status'> & {
  status?: Approval['status'] | undefined;
};

interface SessionServiceDependencies {
  db: Database;
  store: SessionStore;
  runner: TurnRunner;
  pool: AgentPool;
  desk: ApprovalDesk;
  inbox: Inbox;
  blobs: Blobs;
  clock: Clock;
  ids: Ids;
  /** Runs in the transaction that closes a session, before it is written: what it holds is let go. */
  onClosing: (session: Session) => void;
  /** The sessions in a team. Throws `not_found`. */
  agentsOf: (teamId: string) => readonly string[];
  /** Told in the transaction that accepts a turn from outside. */
  onSpokenTo: (session: Session) => void;
  /** Told once a session is closed on disk: what hangs on it ends. */
  onClosed: (session: Session) => void;
  /** Throws `storage_full` where there is no room for new work. */
  assertRoom: () => void;
  /** Throws `provider_unavailable` for one that could start no agent. */
  usableProvider: (id: Session['provider']) => Provider;
  /** Why no agent of a provider could have the settings, as far as that is known without one. */
  objectionOf: (
    id: Session['provider'],
    settings: TurnSettings,
  ) => ProviderError | null | undefined;
}

/** What can be done with sessions. Every answer is on disk, and so is what a refusal was decided by. */
export class SessionService {
  readonly #given: SessionServiceDependencies;

  constructor(given: SessionServiceDependencies) {
    this.#given = given;
  }

  /** Opens a session; its agent starts with the first turn. */
  async create(body: NewSession, keep: Keep = keepNothing): Promise<Session> {
    const session = this.draft(body);
    await this.#given.db.transact(() => {
      this.#given.store.createSession(session);
      keep(session);
    });
    return session;
  }

  /** A session as it will be opened. Checks what is cheap to check, and stores nothing. */
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
      model: body.model ?? null,
      cwd,
      permission_mode: body.permission_mode ?? null,
      thinking_effort: body.thinking_effort ?? null,
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

  get(id: string): Promise<Session> {
    return this.#given.db.read(() => this.#given.store.session(id));
  }

  list({
    status,
    provider,
    team_id,
    limit,
    cursor,
  }: QueryOf<typeof listSessions>): Promise<RecordPage<Session>> {
    return this.#given.db.read(() => {
      const id = team_id === undefined ? undefined : this.#given.agentsOf(team_id);
      return this.#given.store.sessions.page({ status, provider, id }, limit, cursor);
    });
  }

  #directoryOf(sessionId: string): Promise<string> {
    return this.#given.db.read(() => this.#given.store.session(sessionId).cwd);
  }

  /** Accepts a turn, in the transaction that decides whether it may: of two senders one wins. */
  async send(
    sessionId: string,
    body: BodyOf<typeof sendTurn>,
    keep: Keep = keepNothing,
  ): Promise<Turn> {
    this.#checkWishes(sessionId, body);
    const given: InputItem[] = Array.isArray(body.input) ? body.input : [body.input];
    const input = await this.#given.blobs.keep(given, () => this.#directoryOf(sessionId));
    const turn = await this.#given.db.transact(() => {
      const session = this.#given.store.session(sessionId);
      assertTakesTurn(session, body.expected_turn_id);
      const accepted = this.#newTurn(sessionId, input, body);
      this.#given.store.acceptTurn(beginTurn(session, accepted, accepted.accepted_at), accepted);
      this.#given.inbox.wake(sessionId);
      this.#given.onSpokenTo(session);
      keep(acceptance(accepted));
      return accepted;
    });
    this.#given.runner.start(turn);
    return turn;
  }

  turn(sessionId: string, turnId: string): Promise<Turn> {
    return this.#given.db.read(() => this.#given.store.turn(sessionId, turnId));
  }

  turns(
    sessionId: string,
    { limit, cursor }: { limit: number; cursor?: string | undefined },
  ): Promise<RecordPage<Turn>> {
    return this.#given.db.read(() => {
      this.#given.store.session(sessionId);
      return this.#given.store.turns.page({ session_id: sessionId }, limit, cursor);
    });
  }

  items(sessionId: string, turnId: string): Promise<Item[]> {
    return this.#given.db.read(() => {
      this.#given.store.turn(sessionId, turnId);
      return this.#given.store.itemsOf(turnId);
    });
  }

  item(sessionId: string, turnId: string, itemId: string): Promise<Item> {
    return this.#given.db.read(() => {
      this.#given.store.turn(sessionId, turnId);
      const item = this.#given.store.items.get(itemId);
      if (item?.turn_id === turnId) return item;
      throw new AppError('not_found', `turn "${turnId}" has no item "${itemId}"`);
    });
  }

  /** Asks for a turn to end. It ends interrupted, unless its own end was stored first. */
  async interrupt(sessionId: string, turnId: string, keep: Keep = keepNothing): Promise<Turn> {
    const turn = await this.#guard(
      () => turnId,
      () => {
        const found = this.#given.store.turn(sessionId, turnId);
        if (hasEnded(found))
          throw new AppError('turn_not_active', `turn ${turnId} has ended: it is ${found.status}`);
        this.#given.inbox.rest(sessionId);
        const asked = this.#given.runner.requestInterrupt(found);
        keep(asked);
        return asked;
      },
    );
    this.#given.runner.interrupt(turn);
    return turn;
  }

  /**
   * Asks for the turns of several sessions to end, in one transaction: `which` is asked in it, and `stored` is told
   * whose turns those are.
   */
  async interruptAll(
    which: () => readonly string[],
    stored: (sessionIds: string[]) => void,
  ): Promise<void> {
    const asked: Turn[] = [];
    try {
      await this.#given.db.transact(() => {
        for (const id of which()) {
          const { active_turn_id: active } = this.#given.store.session(id);
          if (active === null) continue;
          this.#given.inbox.rest(id);
          asked.push(this.#given.runner.requestInterrupt(this.#given.store.turn(id, active)));
        }
        stored(asked.map(({ session_id }) => session_id));
      });
    } catch (error) {
      for (const { turn_id } of asked) this.#given.runner.goOn(turn_id);
      throw error;
    }
    for (const turn of asked) this.#given.runner.interrupt(turn);
  }

  /** Closes a session with all that hangs on it, in one transaction; its agent is ended after that. */
  async close(
    sessionId: string,
    reason: string | null,
    keep: Keep = keepNothing,
  ): Promise<Session> {
    let ended: Turn | undefined;
    const closed = await this.#guard(
      () => ended?.turn_id,
      () => {
        const session = this.#given.store.session(sessionId);
        if (session.status === 'closed') {
          keep(session);
          return session;
        }
        const turn = session.active_turn_id
          ? this.#given.store.turns.get(session.active_turn_id)
          : undefined;
        ended =
          turn &&
          this.#given.runner.endNow(turn, { status: 'interrupted', error: null }, { isLast: true });
        this.#given.inbox.giveUp({ ...session, status: 'closed' });
        this.#given.onClosing(session);
        const now = closedSession(
          this.#given.store.session(sessionId),
          reason,
          this.#given.clock.now(),
        );
        this.#given.store.updateSession(now, 'session.closed');
        keep(now);
        return now;
      },
    );
    if (ended) this.#given.runner.settle(ended);
    void this.#given.pool.end(sessionId);
    this.#given.onClosed(closed);
    return closed;
  }

  /** Brings a failed session back, if its provider still has it. Others are given as they are. */
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
    return this.#given.db.transact(() => {
      const now = this.#given.store.session(sessionId);
      if (now.status !== 'failed') return now;
      const ready: Session = {
        ...now,
        status: 'ready',
        failure: null,
        updated_at: this.#given.clock.now(),
      };
      this.#given.store.updateSession(ready, 'session.resumed');
      this.#given.inbox.look(sessionId);
      keep(ready);
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
   * What a session may do just now: the permission mode of its turn, else its own; and whether it is at a turn in
   * which a person can be asked.
   */
  permission(sessionId: string): Promise<{ mode: string | null; canAsk: boolean }> {
    return this.#given.db.read(() => {
      const session = this.#given.store.session(sessionId);
      const { active_turn_id: active } = session;
      const turn = active === null ? undefined : this.#given.store.turns.get(active);
      return {
        mode: turn?.permission_mode ?? session.permission_mode,
        canAsk: turn !== undefined && turn.interrupt_requested_at === null,
      };
    });
  }

  /**
   * Asks people for a session, in its active turn, as its agent would. Cancelled where it is at none. Throws
   * `too_many` where too many approvals of the session are pending.
   */
  ask(sessionId: string, request: AgentRequest, withdrawn: AbortSignal): Promise<AgentAnswer> {
    return this.#given.runner.ask(sessionId, request, withdrawn);
  }

  /** The approvals of one session, or of all. */
  approvals({ status, session_id, limit, cursor }: ApprovalFilter): Promise<RecordPage<Approval>> {
    return this.#given.db.read(() => {
      if (session_id !== undefined) this.#given.store.session(session_id);
      return this.#given.store.approvals.page({ status, session_id }, limit, cursor);
    });
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

  /** Lets an approval whose time is up expire: its agent sees it as declined. */
  async expire(approval: Approval): Promise<void> {
    await this.#resolve(approval.session_id, approval.id, keepNothing, (now) =>
      now.status === 'pending' ? { status: 'expired', reason: null } : null,
    );
  }

  async #resolve(
    sessionId: string,
    approvalId: string,
    keep: Keep,
    by: (approval: Approval) => Resolution | null,
  ): Promise<Approval> {
    let turnId: string | undefined;
    let after: Turn | undefined;
    const resolved = await this.#guard(
      () => turnId,
      () => {
        const approval = this.#given.store.approval(sessionId, approvalId);
        turnId = approval.turn_id;
        const resolution = by(approval);
        if (!resolution) return approval;
        const done = this.#given.desk.resolve(approval, resolution);
        after = this.#afterResolution(this.#given.store.turn(sessionId, approval.turn_id), done);
        keep(done);
        return done;
      },
    );
    this.#given.desk.tell(resolved);
    if (after && hasEnded(after)) this.#given.runner.settle(after);
    else if (after) this.#given.runner.start(after);
    return resolved;
  }

  /**
   * What follows for a turn that has no agent since a restart: declined, it is over; accepted, it starts again
   * once nothing else of it is pending. A turn with an agent just goes on.
   */
  #afterResolution(turn: Turn, resolved: Approval): Turn | undefined {
    if (turn.provider_turn_ref !== null || hasEnded(turn)) return undefined;
    if (resolved.status !== 'accepted')
      return this.#given.runner.endNow(turn, { status: 'interrupted', error: null });
    return this.#given.store.pendingApprovals(turn.turn_id).length === 0 ? turn : undefined;
  }

  /** A transaction that may end a turn: if the disk refuses it, the turn goes on. */
  async #guard<T>(turnId: () => string | undefined, fn: () => T): Promise<T> {
    try {
      return await this.#given.db.transact(fn);
    } catch (error) {
      const isRefusal = error instanceof AppError && !error.code.startsWith('storage');
      const id = turnId();
      if (id !== undefined && !isRefusal) this.#given.runner.goOn(id);
      throw error;
    }
  }

  /** Refuses what there is no room for, or what the provider is known not to have, before anything is stored. */
  #checkWishes(sessionId: string, body: BodyOf<typeof sendTurn>): void {
    // What is looked at of a session never changes, so nothing is waited for; one that is not there is refused later.
    const session = this.#given.db.peek(() => this.#given.store.sessions.get(sessionId));
    if (!session) return;
    this.#given.assertRoom();
    const hasImages = Array.isArray(body.input) ? body.input.some(isImage) : isImage(body.input);
    if (hasImages && !this.#given.usableProvider(session.provider).capabilities.images) {
      throw new AppError('invalid', `${session.provider} takes no images`);
    }
    const agent = this.#given.pool.find(sessionId)?.agent;
    this.#assertPossible(session.provider, settingsOf(session, wishesOf(body)), agent);
  }

  /** Throws `invalid` for settings that are known not to be had. */
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
      permission_mode: body.permission_mode ?? null,
      model: body.model ?? null,
      thinking_effort: body.thinking_effort ?? null,
      accepted_at: this.#given.clock.now(),
    });
  }
}

/** What the sender of a turn is told. */
export function acceptance({ session_id, turn_id }: Turn): {
  session_id: string;
  turn_id: string;
  status: 'accepted';
} {
  return { session_id, turn_id, status: 'accepted' };
}

type Wishes = Pick<BodyOf<typeof sendTurn>, 'permission_mode' | 'model' | 'thinking_effort'>;

function wishesOf({ permission_mode, model, thinking_effort }: Wishes) {
  return {
    permission_mode: permission_mode ?? null,
    model: model ?? null,
    thinking_effort: thinking_effort ?? null,
  };
}

function isImage(item: InputItem): boolean {
  return item.type === 'image';
}
