import { type AfterLimit, handoffNameOf } from '../../../../api/after-limit.ts';
import { AppError } from '../../../../api/errors.ts';
import type { Session, Turn } from '../../../../api/sessions.ts';
import type { UsageLimit } from '../../../../api/usage-limit.ts';
import type { ServerParts } from '../../../../core/events/server-parts.ts';
import { cutLine } from '../../../../core/lib/cut-line.ts';
import type { ReportedLimit, TurnOutcome } from '../../../../agents/provider.ts';
import type { HoldSource } from '../../inbox/holds.ts';
import type { Inbox, InboxSource } from '../../inbox/inbox.ts';
import type { AgentKinds } from '../../sessions/agent-slots.ts';
import { chainOf } from '../../sessions/chain.ts';
import { agentNamed, isSameAgent, type NamedAgent, nameOf } from '../../sessions/named-agent.ts';
import type { SessionObserver } from '../../sessions/observer.ts';
import { requestedSettings } from '../../sessions/settings.ts';
import type { SessionStore } from '../../sessions/store.ts';
import type { Reader, Writer } from '../../../../core/store/transaction.ts';
import {
  type Handoff,
  limitEndOf,
  CONTINUE_PROMPT,
  holdMessage,
  knownReset,
  waitAfter,
} from './limit.ts';
import type { Database } from '../../../../core/store/database.ts';
import type { Statement } from '../../../../core/store/statement.ts';

/** A turn that was cut off continues before anything else that waits for the session. */
const RANK = -1;
const MESSAGE_CHARACTERS = 500;

interface LimitsDeps extends Pick<ServerParts, 'db' | 'clock'> {
  sessionStore: SessionStore;
  inbox: Inbox;
  /** The default of sessions that do not set `after_limit`. */
  afterLimit: () => AfterLimit;
  kinds: Pick<AgentKinds, 'agentFor'>;
  observer: SessionObserver;
  /** Ends the agent of a session that has no turn, if it has one. The next turn waits for that. */
  pool: { end: (sessionId: string) => Promise<void> };
}

/** Holds sessions until the usage limits of their agents reset. Then each resumes once: its cut-off turn is in the inbox. */
export class Limits implements HoldSource {
  readonly #deps: LimitsDeps;
  readonly #store: LimitStore;

  constructor(deps: LimitsDeps) {
    this.#deps = deps;
    this.#store = new LimitStore(deps.db);
    deps.inbox.register(OWNER, this.#owner());
    deps.inbox.holds.register(this);
  }

  /** Must be called with the outcome of a turn that has ended, before the next one begins. */
  turnDone(tx: Writer, turn: Turn, { limit }: Pick<TurnOutcome, 'limit'>): void {
    if (turn.status === 'failed' && limit) this.#reached(tx, turn, limit);
    if (turn.status === 'completed' && this.#store.isUsed(tx)) this.#passed(tx, turn);
  }

  /** Holds a session before its next turn if its account is known to be at a limit. Returns whether it is. */
  holdNow(tx: Writer, sessionId: string): boolean {
    if (!this.#store.isUsed(tx)) return false;
    const session = this.#deps.sessionStore.session(tx, sessionId);
    const limit = this.#store.of(tx, session);
    if (!limit) return false;
    if (limit.until !== null && limit.until <= this.#deps.clock.now()) {
      this.#store.drop(tx, session);
      return false;
    }
    const [turnId = null] = this.#deps.inbox.entries.order(tx, sessionId, OWNER);
    const reached = { message: limit.message, resetsAt: limit.until, fruitless: 0 };
    this.#wait(tx, session, reached, turnId);
    return true;
  }

  /** A person has sent a turn: it takes the place of the one that was cut off, and shows whether the limit is over. */
  turnSent(tx: Writer, sessionId: string): void {
    if (!this.#store.isUsed(tx)) return;
    const { inbox } = this.#deps;
    for (const ref of inbox.entries.order(tx, sessionId, OWNER))
      inbox.entries.remove(tx, OWNER, ref);
    inbox.holds.end(tx, sessionId, CODE);
  }

  /** Must be called when a person resumes a session: it does so although the limit may not have reset. */
  resume(tx: Writer, sessionId: string): void {
    const { sessionStore, inbox } = this.#deps;
    if (inbox.holds.end(tx, sessionId, CODE))
      this.#store.drop(tx, sessionStore.session(tx, sessionId));
  }

  /** A person has chosen what a session does when the limit has reset. */
  chosen(tx: Writer, session: Session): void {
    this.#waitOn(tx, session);
  }

  /** Must be called when nobody has allowed the agent that a session is being handed over to. */
  consentMissing(tx: Writer, session: Session, to: string): void {
    this.#waitOn(tx, session, { to, isAllowed: false });
  }

  /** Must be called when a session could not be handed over: it waits until the limit has reset. */
  handoffFailed(tx: Writer, session: Session, failure: string): void {
    this.#waitOn(tx, session, { failure });
  }

  /**
   * Must be called when somebody has logged in again. The limit was reported for the login before, and so are the agents
   * of the sessions that wait: each of them ends, and the next one has the new login.
   */
  async loginChanged(account: Account): Promise<void> {
    await this.#deps.db.transact((tx) => {
      this.#store.drop(tx, account);
      const waiting = this.#waiting(tx, account);
      for (const { id } of waiting) tx.whenDurable(() => void this.#deps.pool.end(id));
      this.#endWaits(tx, waiting);
    });
  }

  /** Must be called when a hold of a session has ended. */
  released(tx: Writer, sessionId: string, code: string): void {
    if (code !== CODE) return;
    const { sessionStore } = this.#deps;
    const session = sessionStore.session(tx, sessionId);
    this.#write(tx, { ...session, usage_limit: null }, 'session.limit_ended');
  }

  #reached(tx: Writer, turn: Turn, { resetsAt, isOfAccount }: ReportedLimit): void {
    const { clock, sessionStore, inbox } = this.#deps;
    const { session_id, turn_id } = turn;
    this.#store.use();
    const session = sessionStore.session(tx, session_id);
    const now = clock.now();
    const message = cutLine(turn.error?.message ?? '', MESSAGE_CHARACTERS) ?? '';
    const resets = knownReset(resetsAt, now);
    const reached = { message, resetsAt: resets, fruitless: this.#fruitless(tx, turn) };
    if (isOfAccount)
      this.#store.put(tx, session, { message, since: now, until: limitEndOf(reached, now) });
    inbox.entries.put(tx, { session_id, owner: OWNER, ref: turn_id, rank: RANK });
    this.#wait(tx, session, reached, turn_id);
  }

  #wait(
    tx: Writer,
    session: Session,
    reached: { message: string; resetsAt: number | null; fruitless: number },
    turn_id: string | null,
    handoff: Handoff | null = turn_id === null ? null : this.#handoffOf(tx, session),
  ): void {
    const { clock, inbox, observer } = this.#deps;
    const { message, ...times } = reached;
    const now = clock.now();
    const usage_limit: UsageLimit = {
      message,
      since: session.usage_limit?.since ?? now,
      resets_at: reached.resetsAt,
      ...waitAfter({ ...times, resumes: this.#resumes(session), handoff }, now),
      turn_id,
    };
    this.#write(tx, { ...session, usage_limit }, 'session.limited');
    const hold = { message: holdMessage(usage_limit), until: usage_limit.resumes_at };
    inbox.holds.put(tx, session.id, { code: CODE, ...hold });
    if (usage_limit.waits_because === 'handoff') observer.handoffDue?.(tx, session.id);
  }

  /** Lets a session that waits for a limit wait in another way. */
  #waitOn(tx: Writer, session: Session, handoff?: Handoff): void {
    if (!session.usage_limit) return;
    const { message, resets_at: resetsAt, turn_id } = session.usage_limit;
    this.#wait(tx, session, { message, resetsAt, fruitless: 0 }, turn_id, handoff);
  }

  /** Returns the agent that continues a session at a limit; null if the session waits for its own agent. */
  #handoffOf(rx: Reader, session: Session): Handoff | null {
    const { sessionStore, kinds, clock } = this.#deps;
    const name = handoffNameOf(session.after_limit ?? this.#deps.afterLimit());
    if (name === null) return null;
    let next: NamedAgent;
    try {
      next = agentNamed(name, kinds);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { failure: error.message };
    }
    const limit = this.#store.of(rx, next);
    const isLimited = limit !== undefined && (limit.until ?? Infinity) > clock.now();
    const continuation =
      session.continued_by && sessionStore.sessions.get(rx, session.continued_by);
    const isContinued = continuation && continuation.status !== 'closed';
    // An agent whose last turn of this conversation ended at a limit does not get it back.
    const hasStopped = chainOf(rx, session, sessionStore).some(
      (one) => isSameAgent(one, next) && one.last_turn_error?.code === 'usage_limit',
    );
    if (isSameAgent(session, next) || isLimited || isContinued || hasStopped) return null;
    return { to: nameOf(next), isAllowed: true };
  }

  #resumes({ after_limit: own }: Session): boolean {
    return (own ?? this.#deps.afterLimit()) !== 'wait';
  }

  /** A turn that began after the limit was reported and has completed shows that the limit is over. */
  #passed(tx: Writer, { session_id, started_at }: Turn): void {
    const session = this.#deps.sessionStore.session(tx, session_id);
    const limit = this.#store.of(tx, session);
    if (!limit || limit.since >= (started_at ?? 0)) return;
    this.#store.drop(tx, session);
    this.#endWaits(tx, this.#waiting(tx, session));
  }

  #waiting(rx: Reader, account: Account): Session[] {
    const { sessionStore, inbox } = this.#deps;
    return inbox.holds
      .sessionsWith(rx, CODE)
      .map((id) => sessionStore.session(rx, id))
      .filter(({ provider, agent }) => provider === account.provider && agent === account.agent);
  }

  /** Ends the holds of the sessions that resume by themselves, and are not handed over. */
  #endWaits(tx: Writer, sessions: readonly Session[]): void {
    const { inbox, clock } = this.#deps;
    for (const session of sessions)
      if (this.#resumes(session) && session.usage_limit?.hands_over_to === undefined)
        inbox.holds.endAt(tx, session.id, CODE, clock.now());
  }

  /** Returns how many turns in a row, up to this one, have gone on after a limit and met one before they did anything. */
  #fruitless(tx: Writer, turn: Turn): number {
    const newest = this.#deps.sessionStore.newestTurns(tx, turn.session_id, 10);
    const at = newest.findIndex((one) => one.source !== 'usage_limit' || this.#hasWorked(tx, one));
    return at === -1 ? newest.length : at;
  }

  #hasWorked(rx: Reader, { turn_id }: Turn): boolean {
    return this.#deps.sessionStore.itemsOf(rx, turn_id).length > 0;
  }

  #write(tx: Writer, session: Session, kind: 'session.limited' | 'session.limit_ended'): void {
    const updated_at = this.#deps.clock.now();
    this.#deps.sessionStore.updateSession(tx, { ...session, updated_at }, kind);
  }

  /** The owner of the turns that were cut off. One of which an agent has done nothing is sent again as it was. */
  #owner(): InboxSource {
    return {
      isAlone: true,
      content: (rx, { ref }) => {
        const turn = this.#deps.sessionStore.turns.get(rx, ref);
        const isAgain = turn && turn.input.length > 0 && !this.#hasWorked(rx, turn);
        return {
          source: 'usage_limit',
          input: isAgain ? turn.input : [{ type: 'text', text: CONTINUE_PROMPT }],
          settings: requestedSettings(turn ?? {}),
        };
      },
      deferred: () => true,
      unreachable: (_tx, _ref, { status }) => status !== 'closed',
    };
  }
}

/** The sessions of an account: cadre has one login for each provider, and of acp one for each agent. */
type Account = NamedAgent;

/** The usage limit that an account has reached. Times are in Unix ms. */
interface AccountLimit {
  message: string;
  since: number;
  /** null: not known. */
  until: number | null;
}

/** The code of the hold of a session that waits for a usage limit, and the owner of its entries in the inbox. */
const CODE = 'usage_limit';
const OWNER = 'usage_limit';

/** The rows of the usage limits of accounts, as they were reported last. */
class LimitStore {
  readonly #any: Statement<[number]>;
  readonly #of: Statement<[message: string, since: number, until: number | null]>;
  readonly #put: Statement;
  readonly #drop: Statement;
  /** undefined: not known. Once true, it stays so until the server stops. */
  #isUsed: boolean | undefined;

  constructor(db: Database) {
    this.#any = db.prepare(
      `SELECT EXISTS (SELECT 1 FROM usage_limits) OR EXISTS (SELECT 1 FROM holds WHERE code = ?)
       OR EXISTS (SELECT 1 FROM inbox WHERE owner = ?)`,
    );
    const account = 'provider = ? AND agent = ?';
    this.#of = db.prepare(`SELECT message, since, until FROM usage_limits WHERE ${account}`);
    this.#put = db.prepare(
      'INSERT OR REPLACE INTO usage_limits (provider, agent, message, since, until) VALUES (?, ?, ?, ?, ?)',
    );
    this.#drop = db.prepare(`DELETE FROM usage_limits WHERE ${account}`);
  }

  /** Whether any limit was reported and is not over. Remembered, so that turns of people without limits read no row. */
  isUsed(rx: Reader): boolean {
    return (this.#isUsed ??= this.#any.get(rx, CODE, OWNER)?.[0] === 1);
  }

  /** Must be called when a limit is reported, before anything of it is stored. */
  use(): void {
    this.#isUsed = true;
  }

  of(rx: Reader, { provider, agent }: Account): AccountLimit | undefined {
    const row = this.#of.get(rx, provider, agent ?? '');
    return row && { message: row[0], since: row[1], until: row[2] };
  }

  put(tx: Writer, { provider, agent }: Account, { message, since, until }: AccountLimit): void {
    this.#put.run(tx, provider, agent ?? '', message, since, until);
  }

  drop(tx: Writer, { provider, agent }: Account): void {
    this.#drop.run(tx, provider, agent ?? '');
  }
}
