import { AppError, conflictError } from '../../../api/errors.ts';
import type { Session } from '../../../api/sessions.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { AgentKinds } from '../sessions/agent-slots.ts';
import { agentNamed } from '../sessions/named-agent.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { HandoffService } from './service.ts';

interface LimitHandoffsDeps extends Pick<ServerParts, 'db' | 'logger' | 'failpoint'> {
  store: SessionStore;
  inbox: Inbox;
  kinds: Pick<AgentKinds, 'agentFor'>;
  handoffs: Pick<HandoffService, 'handOver'>;
  limits: {
    consentMissing: (tx: Writer, session: Session, to: string) => void;
    handoffFailed: (tx: Writer, session: Session, failure: string) => void;
  };
  /** Resolves with whether a user has allowed an agent to continue sessions of the repository of a directory. */
  isAllowed: (directory: string, agent: string) => Promise<boolean>;
}

/**
 * Hands over the sessions whose usage limit names an agent to continue them. The rows of the sessions say which are due, so
 * that a restart continues, and the transaction of the handoff ends the wait.
 */
export class LimitHandoffs {
  readonly #deps: LimitHandoffsDeps;
  readonly #mutexes = new OneAtATime();
  #isOpen = false;

  constructor(deps: LimitHandoffsDeps) {
    this.#deps = deps;
  }

  /** Continues the handoffs that the last run left unfinished. */
  open(): void {
    this.#isOpen = true;
    this.retry();
  }

  /** Leaves unfinished handoffs for the next start of the server. */
  async stop(): Promise<void> {
    this.#isOpen = false;
    await this.#mutexes.idle();
  }

  /** Tries all sessions that are to be handed over, also those without consent until now. */
  retry(): void {
    const { db, inbox } = this.#deps;
    for (const id of db.peek((rx) => inbox.holds.sessionsWith(rx, 'usage_limit'))) this.start(id);
  }

  /** Hands a session over in the background, if that is due. */
  start(sessionId: string): void {
    if (!this.#isOpen || this.#nextAgent(sessionId) === undefined) return;
    this.#mutexes
      .run(sessionId, () => this.#handOver(sessionId))
      .catch((error: unknown) =>
        this.#deps.logger.error(
          { err: error, session_id: sessionId },
          'cannot hand a session over at a usage limit',
        ),
      );
  }

  #nextAgent(sessionId: string): string | undefined {
    const { db, store } = this.#deps;
    return db.peek((rx) => store.sessions.get(rx, sessionId))?.usage_limit?.hands_over_to;
  }

  async #handOver(session_id: string): Promise<void> {
    const { db, store, handoffs, limits, kinds, isAllowed, logger, failpoint } = this.#deps;
    const before = db.peek((rx) => store.session(rx, session_id));
    const to = before.usage_limit?.hands_over_to;
    if (!this.#isOpen || to === undefined) return;
    failpoint('handoff.due');
    if (!(await isAllowed(before.cwd, to))) {
      if (before.usage_limit?.waits_because === 'handoff')
        await this.#change(before, (tx, session) => limits.consentMissing(tx, session, to));
      return;
    }
    try {
      const { provider, agent } = agentNamed(to, kinds);
      await handoffs.handOver(session_id, { provider, agent }, undefined, (now) => {
        if (!isSameWait(now, before))
          throw conflictError(`session ${session_id} no longer waits to be handed over`);
      });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      logger.warn({ reason: error.message, session_id }, 'cannot hand a session over');
      await this.#change(before, (tx, session) => limits.handoffFailed(tx, session, error.message));
    }
  }

  /** Changes the wait of a session, unless it waits for something else meanwhile. */
  async #change(before: Session, change: (tx: Writer, session: Session) => void): Promise<void> {
    const { db, store } = this.#deps;
    await db.transact((tx) => {
      const session = store.session(tx, before.id);
      if (isSameWait(session, before)) change(tx, session);
    });
  }
}

function isSameWait({ usage_limit: one }: Session, { usage_limit: other }: Session): boolean {
  const fields = ['turn_id', 'hands_over_to', 'waits_because'] as const;
  return fields.every((field) => one?.[field] === other?.[field]);
}
