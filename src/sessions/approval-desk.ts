import { isDeepStrictEqual } from 'node:util';
import type { Approval } from '../api/approvals.ts';
import type { Turn } from '../api/sessions.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { AgentAnswer, AgentRequest } from '../providers/provider.ts';
import type { Database } from '../store/database.ts';
import type { Reader, Writer } from '../store/transaction.ts';
import { answerOf, type Resolution, resolveApproval } from './approval.ts';
import type { SessionStore } from './store.ts';
import { hasEnded } from './turn.ts';

interface ApprovalDeskDependencies {
  db: Database;
  store: SessionStore;
  clock: Clock;
  ids: Ids;
  logger: Logger;
  /** How long an approval may wait, in ms; null: for ever. */
  timeoutMs: () => number | null;
  /** The most approvals of one session that may be pending. */
  maxPending: () => number;
  /** Called with each approval that waits for a person, once it is on disk. */
  notify: (approval: Approval) => void;
  /** Called with an approval that nobody answered in time, when its time is up. */
  onExpired: (approval: Approval) => void;
  /** Runs in the transaction in which an approval is resolved whose turn goes on. */
  onResolved: (tx: Writer, approval: Approval) => void;
}

/**
 * Where agents ask and people answer. The rows say what is pending and how it was decided; in memory is only which agent
 * waits for which approval.
 */
export class ApprovalDesk {
  readonly #given: ApprovalDeskDependencies;
  #closed = false;
  readonly #asking = new Map<string, { turnId: string; answer: (answer: AgentAnswer) => void }>();

  constructor(given: ApprovalDeskDependencies) {
    this.#given = given;
  }

  /** Opens an approval for a turn and waits for its decision. Throws `too_many` where too many are pending. */
  async ask(
    sessionId: string,
    turnId: string,
    request: AgentRequest,
    withdrawn: AbortSignal,
  ): Promise<AgentAnswer> {
    const id = this.#given.ids.next('apr');
    const answered = Promise.withResolvers<AgentAnswer>();
    this.#asking.set(id, { turnId, answer: answered.resolve });
    try {
      const approval = await this.#given.db.transact((tx) =>
        this.#open(tx, id, sessionId, turnId, request),
      );
      if (!approval) return { decision: 'cancelled' };
      this.#given.notify(approval);
      using _expiry = this.watchExpiry(approval, wholeTime(approval));
      withdrawn.addEventListener('abort', () => void this.#withdraw(approval), { once: true });
      if (withdrawn.aborted) void this.#withdraw(approval);
      return await answered.promise;
    } finally {
      this.#asking.delete(id);
    }
  }

  /**
   * Resolves an approval; the agent that waits for it hears of that once it is on disk. Throws `approval_resolved`.
   */
  resolve(tx: Writer, approval: Approval, resolution: Resolution): Approval {
    const turn = this.#given.store.turn(tx, approval.session_id, approval.turn_id);
    const isHeld = resolution.status === 'accepted' && turn.provider_turn_ref === null;
    const resolved = {
      ...resolveApproval(approval, resolution, this.#given.clock.now()),
      held: isHeld,
    };
    this.#given.store.resolveApproval(
      tx,
      this.#given.store.session(tx, approval.session_id),
      turn,
      resolved,
    );
    this.#given.onResolved(tx, resolved);
    tx.whenDurable(() => this.#asking.get(approval.id)?.answer(answerOf(resolved)));
    return resolved;
  }

  /** Answers the pending requests of a turn as cancelled. To be called once that is on disk. */
  cancelRequests(turnId: string): void {
    for (const asking of this.#asking.values()) {
      if (asking.turnId === turnId) asking.answer({ decision: 'cancelled' });
    }
  }

  /** The server stops: requests that agents withdraw as they end stay pending, for the next start. */
  close(): void {
    this.#closed = true;
  }

  /** Whether an accepted approval and a new request have the same subject; never where either has none. */
  isSame(approval: Approval, request: AgentRequest): boolean {
    const { kind, subject } = approval;
    if (subject === null || subject === undefined || kind !== request.kind) return false;
    return isDeepStrictEqual(subject, plain(request.subject));
  }

  /**
   * Expires an approval in `leftMs`, if it has an end. An approval that an earlier run of the server opened has the time
   * that the wall clock leaves it, but no more than its whole time: that clock may have been set back.
   */
  watchExpiry(approval: Approval, leftMs = this.#timeLeft(approval)): Disposable {
    if (approval.expires_at === null) return { [Symbol.dispose]: () => undefined };
    return this.#given.clock.after(leftMs, () => this.#given.onExpired(approval));
  }

  #timeLeft(approval: Approval): number {
    const left = (approval.expires_at ?? 0) - this.#given.clock.now();
    return Math.min(Math.max(0, left), wholeTime(approval));
  }

  #open(
    tx: Writer,
    id: string,
    sessionId: string,
    turnId: string,
    request: AgentRequest,
  ): Approval | null {
    const turn = this.#given.store.turn(tx, sessionId, turnId);
    if (hasEnded(turn) || turn.interrupt_requested_at !== null) return null;
    this.#assertPlace(tx, turn);
    const session = this.#given.store.session(tx, sessionId);
    const now = this.#given.clock.now();
    const timeout = this.#given.timeoutMs();
    const approval: Approval = {
      id,
      session_id: sessionId,
      turn_id: turnId,
      provider: session.provider,
      kind: request.kind,
      title: request.title,
      request: request.request,
      subject: request.subject,
      questions: request.questions ? [...request.questions] : null,
      answers: null,
      held: false,
      status: 'pending',
      decision: null,
      decided_by: null,
      reason: null,
      expires_at: timeout === null ? null : now + timeout,
      created_at: now,
      resolved_at: null,
    };
    this.#given.store.requestApproval(tx, session, turn, approval);
    return approval;
  }

  /** Only the active turn of a session has pending approvals, so that those of the turn are all there are. */
  #assertPlace(rx: Reader, { session_id, turn_id }: Turn): void {
    const max = this.#given.maxPending();
    if (this.#given.store.pendingApprovals(rx, turn_id).length < max) return;
    throw new AppError(
      'too_many',
      `${max} approvals of session ${session_id} are pending, which is the limit (approvals.max_pending_per_session): wait until some are answered`,
    );
  }

  async #withdraw(approval: Approval): Promise<void> {
    if (this.#closed) return;
    try {
      await this.#given.db.transact((tx) => {
        const now = this.#given.store.approval(tx, approval.session_id, approval.id);
        if (now.status === 'pending')
          this.resolve(tx, now, { status: 'cancelled', reason: 'the agent took it back' });
      });
    } catch (error) {
      this.#given.logger.warn({ err: error }, 'an approval could not be taken back');
    }
    this.#asking.get(approval.id)?.answer({ decision: 'cancelled' });
  }
}

/** How long an approval may wait, in ms. */
function wholeTime({ expires_at: end, created_at: begin }: Approval): number {
  return (end ?? begin) - begin;
}

/** The value as it is once it was stored as JSON and read again. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null)) as unknown;
}
