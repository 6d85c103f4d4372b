import { isDeepStrictEqual } from 'node:util';
import type { Approval, ApprovalDetail, ApprovalScope } from '../../../api/approvals.ts';
import type { RuleDecision } from '../../../api/approval-rules.ts';
import type { Session, Turn } from '../../../api/sessions.ts';
import { AppError } from '../../../api/errors.ts';
import type { AgentAnswer, AgentRequest } from '../../../agents/provider.ts';
import type { RequestOrigin } from '../../../agents/read-position.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { persist } from '../../../core/store/persist.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import { type Resolution, answerOf, resolveApproval, unanswered } from './approval.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { TurnOutput } from '../sessions/output.ts';
import { hasEnded } from '../sessions/turn.ts';
import { shorten } from '../../../core/lib/shorten.ts';

/** The time between two looks at the wall clock for what has expired, in ms. */
const LOOK_MS = 60_000;

interface ApprovalBrokerDeps extends Pick<ServerParts, 'db' | 'clock' | 'ids' | 'logger'> {
  store: SessionStore;
  /** The time after which a pending approval expires, in ms; null: it never expires. */
  timeoutMs: () => number | null;
  maxPending: () => number;
  /** The approval rules. For the effect `ask`, a person decides. */
  rules: { decide: (request: AgentRequest, session: Session) => Promise<RuleDecision> };
  /** Interrupts the turn of a session if an entry of its inbox waits for the answer. */
  inbox: { atBoundary: (tx: Writer, sessionId: string) => void };
  budgets: { answered: (tx: Writer, approval: Approval) => void };
}

/** The turn that a request of an agent belongs to, with its output. */
interface Asker {
  sessionId: string;
  turnId: string;
  origin?: RequestOrigin | undefined;
  output?: Pick<TurnOutput, 'reader' | 'storeText'> | undefined;
}

/** Stores what the agent said before a request, and that its approval is stored. */
function noteStored(tx: Writer, { origin, output }: Asker, approvalId: string): void {
  if (origin) output?.reader?.noteAsked(approvalId, origin);
  output?.storeText(tx);
}

/** Opens approvals for agents and resolves them for people. Only the agents that wait for an answer are in memory. */
export class ApprovalBroker {
  readonly #deps: ApprovalBrokerDeps;
  #closed = false;
  #expire: ((tx: Writer, approval: Approval) => void) | undefined;
  readonly #asking = new Map<string, { turnId: string; answer: (answer: AgentAnswer) => void }>();

  constructor(deps: ApprovalBrokerDeps) {
    this.#deps = deps;
  }

  onExpired(expire: (tx: Writer, approval: Approval) => void): void {
    this.#expire = expire;
  }

  /** Decides a request by the rules; else opens an approval and waits for its answer. Throws `too_many`. */
  async ask(asker: Asker, request: AgentRequest, withdrawn: AbortSignal): Promise<AgentAnswer> {
    const ruled = await this.#askRules(asker, request);
    if (ruled) return ruled;
    const id = this.#deps.ids.next('apr');
    const open = () => this.#deps.db.transact((tx) => this.#open(tx, id, asker, request));
    return this.#untilAnswered(id, asker.turnId, withdrawn, open);
  }

  /** Waits for the answer to a request for which an earlier server has opened the approval. */
  askAgain({ id, session_id, turn_id }: Approval, withdrawn: AbortSignal): Promise<AgentAnswer> {
    const { db, store } = this.#deps;
    const read = () => db.read((rx) => store.approval(rx, session_id, id));
    return this.#untilAnswered(id, turn_id, withdrawn, read);
  }

  async #untilAnswered(
    id: string,
    turnId: string,
    withdrawn: AbortSignal,
    open: () => Promise<Approval | null>,
  ): Promise<AgentAnswer> {
    const answered = Promise.withResolvers<AgentAnswer>();
    this.#asking.set(id, { turnId, answer: answered.resolve });
    try {
      const approval = await open();
      if (!approval) return { decision: 'cancelled' };
      if (approval.status !== 'pending') return answerOf(approval);
      using _expiry = this.watchExpiry(approval);
      withdrawn.addEventListener('abort', () => void this.#withdraw(approval), { once: true });
      if (withdrawn.aborted) void this.#withdraw(approval);
      return await answered.promise;
    } finally {
      this.#asking.delete(id);
    }
  }

  /** Whether a person answers after the timeout. The wall clock decides: timers stand still while the machine sleeps. */
  isLate(approval: Approval, resolution: Resolution): boolean {
    return 'decidedBy' in resolution && approval.status === 'pending' && this.#isOverdue(approval);
  }

  /** Resolves an approval. Its agent receives the decision once that is on disk. Throws `approval_resolved`. */
  resolve(tx: Writer, approval: Approval, resolution: Resolution): Approval {
    const turn = this.#deps.store.turn(tx, approval.session_id, approval.turn_id);
    const isHeld =
      approval.kind !== 'budget' &&
      resolution.status === 'accepted' &&
      turn.provider_turn_ref === null;
    const decided = resolveApproval(approval, resolution, this.#deps.clock.now());
    // No agent receives it, and the one that resumes the turn gets it as the answer to one equal request.
    const resolved = isHeld ? { ...decided, held: true, scope: 'once' as const } : decided;
    this.#deps.store.resolveApproval(tx, resolved);
    const { inbox, budgets } = this.#deps;
    if (resolved.kind === 'budget') budgets.answered(tx, resolved);
    else inbox.atBoundary(tx, resolved.session_id);
    tx.whenDurable(() => this.#asking.get(approval.id)?.answer(answerOf(resolved)));
    return resolved;
  }

  /** Answers the pending requests of a turn as cancelled. Must be called once their cancellation is on disk. */
  cancelRequests(turnId: string): void {
    for (const asking of this.#asking.values()) {
      if (asking.turnId === turnId) asking.answer({ decision: 'cancelled' });
    }
  }

  /** Keeps requests pending for the next start: they no longer expire, and their agents cannot withdraw them. */
  close(): void {
    this.#closed = true;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Whether an accepted approval and a new request have the same subject. False if either has none. */
  isSame(approval: Approval, request: AgentRequest): boolean {
    const { kind, subject } = approval;
    if (subject === null || subject === undefined || kind !== request.kind) return false;
    return isDeepStrictEqual(subject, jsonRoundTrip(request.subject));
  }

  /**
   * Expires an approval at its `expires_at`, if it has one, and after the full timeout at the latest, because the wall
   * clock may have been set back.
   */
  watchExpiry(approval: Approval): Disposable {
    if (approval.expires_at === null) return { [Symbol.dispose]: () => undefined };
    const { clock } = this.#deps;
    const leftMs = this.#timeLeft(approval);
    const over = new AbortController();
    const stopTimers = () => {
      timer[Symbol.dispose]();
      looks?.[Symbol.dispose]();
    };
    const expire = () => {
      stopTimers();
      const what = { approval_id: approval.id };
      void persist(this.#deps, over.signal, what, (tx) => this.#expire?.(tx, approval));
    };
    const timer = clock.after(leftMs, expire);
    // The timer stands still while the machine sleeps.
    const look = () => this.#isOverdue(approval) && expire();
    const looks = leftMs > LOOK_MS ? clock.every(LOOK_MS, look) : null;
    return {
      [Symbol.dispose]: () => {
        over.abort();
        stopTimers();
      },
    };
  }

  #isOverdue({ expires_at: end }: Approval): boolean {
    return end !== null && this.#deps.clock.now() >= end;
  }

  #timeLeft(approval: Approval): number {
    const left = (approval.expires_at ?? 0) - this.#deps.clock.now();
    return Math.min(Math.max(0, left), timeoutOf(approval));
  }

  #consentTo(request: AgentRequest, { id }: Session): Approval | null {
    if (!request.isKeptByCadre) return null;
    const { db, store } = this.#deps;
    const accepted = db.peek((rx) => store.acceptedForSession(rx, id));
    return accepted.find((one) => this.isSame(one, request)) ?? null;
  }

  /** Stores and returns what a rule, or an acceptance for the session, decides; null where a person decides. */
  async #askRules(asker: Asker, request: AgentRequest): Promise<AgentAnswer | null> {
    const { sessionId, turnId } = asker;
    const { db, store, clock, ids } = this.#deps;
    const session = db.peek((rx) => store.session(rx, sessionId));
    const { effect, rule, why } = await this.#deps.rules.decide(request, session);
    if (rule !== null && effect === 'ask') return null;
    if (effect === 'allow' && !offersOf(request).includes('once')) return null;
    const consent = rule === null ? this.#consentTo(request, session) : null;
    if (rule === null && consent === null) return null;
    const decided = await db.transact((tx) => {
      const turn = store.turn(tx, sessionId, turnId);
      if (isOver(turn)) return null;
      const resolution: Resolution = rule
        ? {
            status: effect === 'allow' ? 'accepted' : 'declined',
            decidedBy: rule.id,
            reason: rule.reason ?? `an approval rule decided the request: ${why}`,
            answers: null,
          }
        : {
            status: 'accepted',
            decidedBy: consent?.decided_by ?? consent?.id ?? '',
            reason: `approval ${consent?.id} accepted the same request for the whole session`,
            answers: null,
          };
      const asked = this.#newApproval(ids.next('apr'), session, turnId, request);
      const approval = resolveApproval(asked, resolution, clock.now());
      noteStored(tx, asker, approval.id);
      store.addRuledApproval(tx, turn, approval);
      return approval;
    });
    return decided ? answerOf(decided) : { decision: 'cancelled' };
  }

  #open(tx: Writer, id: string, asker: Asker, request: AgentRequest): Approval | null {
    const { sessionId, turnId } = asker;
    const turn = this.#deps.store.turn(tx, sessionId, turnId);
    if (isOver(turn)) return null;
    const { store, maxPending } = this.#deps;
    const max = maxPending();
    // Only the active turn of a session has pending approvals.
    if (store.pendingApprovals(tx, turnId).length >= max)
      throw new AppError(
        'too_many',
        `session ${sessionId} already has ${max} pending approvals (approvals.max_pending_per_session): answer some of these approvals first`,
      );
    const session = store.session(tx, sessionId);
    const approval = this.#newApproval(id, session, turnId, request);
    noteStored(tx, asker, id);
    store.requestApproval(tx, session, turn, approval);
    return approval;
  }

  #newApproval(
    id: string,
    session: Pick<Session, 'id' | 'provider'>,
    turnId: string,
    request: AgentRequest,
  ): Approval {
    const now = this.#deps.clock.now();
    const timeout = this.#deps.timeoutMs();
    const { details, isLarge } = boundedDetails(request.details);
    return {
      id,
      session_id: session.id,
      turn_id: turnId,
      provider: session.provider,
      kind: request.kind,
      title: request.title.replaceAll(/\s+/g, ' ').trim(),
      request: request.request,
      details,
      scopes: [...offersOf(request)],
      session_allows: request.sessionAllows ?? null,
      subject: isLarge ? null : request.subject,
      ...(request.lacksArguments ? { arguments_missing: true } : {}),
      questions: request.questions ? [...request.questions] : null,
      ...unanswered,
      expires_at: timeout === null ? null : now + timeout,
      created_at: now,
      resolved_at: null,
    };
  }

  async #withdraw(approval: Approval): Promise<void> {
    if (this.#closed) return;
    try {
      await this.#deps.db.transact((tx) => {
        const now = this.#deps.store.approval(tx, approval.session_id, approval.id);
        if (now.status === 'pending')
          this.resolve(tx, now, { status: 'cancelled', reason: 'the agent withdrew the request' });
      });
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'cannot cancel an approval that the agent withdrew');
    }
    this.#asking.get(approval.id)?.answer({ decision: 'cancelled' });
  }
}

/** Whether nobody waits for approvals of a turn any more. */
function isOver(turn: Turn): boolean {
  return hasEnded(turn) || turn.interrupt_requested_at !== null;
}

function offersOf({ scopes }: AgentRequest): readonly ApprovalScope[] {
  return scopes ?? ['once'];
}

/** Returns the full timeout of an approval, in ms. */
function timeoutOf({ expires_at: end, created_at: begin }: Approval): number {
  return (end ?? begin) - begin;
}

function jsonRoundTrip(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null)) as unknown;
}

/** The maximum size of the details of an approval as JSON, in bytes: arguments of 8 MiB fit, and their diffs. */
const MAX_DETAILS_BYTES = 12 * 1024 * 1024;
/** The maximum size of details whose request is compared with another one. */
const MAX_COMPARED_BYTES = 1024 * 1024;
/** The maximum number of omitted parts that are named, and the maximum length of a name. */
const NAMED_PARTS = 10;
const NAME_CHARACTERS = 200;

/**
 * Returns the details as they are stored. If all of them are above 12 MiB, those that do not fit are replaced by one
 * detail at the end that names them: nothing is cut in its middle, and nothing is left out silently. `isLarge`: the
 * request is too large to be stored a third time, as its own subject.
 */
function boundedDetails(details: readonly ApprovalDetail[]): {
  details: ApprovalDetail[];
  isLarge: boolean;
} {
  let room = MAX_DETAILS_BYTES;
  const kept: ApprovalDetail[] = [];
  const omitted: { name: string; bytes: number }[] = [];
  for (const detail of details) {
    const bytes = Buffer.byteLength(JSON.stringify(detail));
    if (bytes > room) {
      omitted.push({ name: nameOf(detail), bytes });
    } else {
      room -= bytes;
      kept.push(detail);
    }
  }
  return {
    details: omitted.length === 0 ? kept : [...kept, asOne(omitted)],
    isLarge: omitted.length > 0 || MAX_DETAILS_BYTES - room > MAX_COMPARED_BYTES,
  };
}

function asOne(omitted: readonly { name: string; bytes: number }[]): ApprovalDetail {
  const named = omitted.slice(0, NAMED_PARTS).map(({ name }) => shorten(name, NAME_CHARACTERS));
  const others = omitted.length - named.length;
  return {
    type: 'omitted',
    name: [...named, ...(others > 0 ? [`${others} other parts`] : [])].join(', '),
    bytes: omitted.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

function nameOf(detail: ApprovalDetail): string {
  switch (detail.type) {
    case 'command':
      return 'the command';
    case 'diff':
      return `the change to ${detail.path}`;
    case 'input':
    case 'omitted':
      return detail.name;
  }
}
