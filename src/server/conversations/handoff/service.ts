import fs from 'node:fs/promises';
import path from 'node:path';
import type { BodyOf, ResponseOf } from '../../../api/endpoint.ts';
import { AppError, conflictError } from '../../../api/errors.ts';
import type { handOffSession } from '../../../api/handoffs.ts';
import { inheritedPermissionModes } from '../../../api/permission-modes.ts';
import type { Session } from '../../../api/sessions.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Failpoint } from '../../../core/lib/failpoint.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import { removeTree } from '../../../core/lib/remove-tree.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import { persist } from '../../../core/store/persist.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { ImportStore } from '../imports/store.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { AgentPool } from '../sessions/agent-pool.ts';
import type { AgentKinds } from '../sessions/agent-slots.ts';
import { agentNamed } from '../sessions/named-agent.ts';
import type { SessionService } from '../sessions/service.ts';
import { titleFrom } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import { assertFree } from './assert-free.ts';
import { type CheckoutSummary, digestOf, fullRecordOf, inputFor } from './digest.ts';
import { type ConversationRecord, readRecord } from './record.ts';

const DIGEST_TURNS = 200;
const RECORD_TURNS = 500;
const RECORD = 'handoff-record.md';

type Request = BodyOf<typeof handOffSession>;
type Answer = ResponseOf<typeof handOffSession>;

interface HandoffDeps extends Pick<ServerParts, 'db' | 'log' | 'clock'> {
  store: SessionStore;
  sessions: SessionService;
  imports: { store: ImportStore };
  inbox: Inbox;
  pool: Pick<AgentPool, 'end' | 'find'>;
  limits: { turnSent: (tx: Writer, sessionId: string) => void };
  claims: { moveAll: (tx: Writer, from: string, to: string) => void };
  /** Resolves with the state of the files of a session; null if they are in no usable repository. */
  readCheckout: (sessionId: string) => Promise<CheckoutSummary | null>;
  /** Returns the directory for temporary files of a session, which is removed when the session is closed. */
  temporaryDirectory: (session: Session) => TemporaryDirectory;
  failpoint: Failpoint;
}

interface TemporaryDirectory {
  path: string;
  /** The path under which the agent of the session finds the directory. */
  inAgent: string;
}

export class HandoffService {
  readonly #deps: HandoffDeps;

  constructor(deps: HandoffDeps) {
    this.#deps = deps;
  }

  /**
   * Opens a session that continues another one, in one transaction. `assertWanted` throws in it if the handoff is out of
   * date. Throws `turn_in_progress` or `conflict`.
   */
  async handOver(
    sessionId: string,
    body: Request,
    saveResponse?: SaveResponse,
    assertWanted?: (old: Session) => void,
  ): Promise<Answer> {
    const { db, store, sessions, imports, inbox, log, readCheckout, failpoint } = this.#deps;
    const old = await sessions.get(sessionId);
    db.peek((rx) => assertFree(rx, old, { store, inbox }));
    const session = await this.#draft(old, body);
    const checkout = await readCheckout(sessionId);
    const limit = body.full === true ? RECORD_TURNS : DIGEST_TURNS;
    const record = await db.read((rx) =>
      readRecord(rx, old, limit, { store, imports: imports.store, log }),
    );
    const write = async () => {
      const file = body.full === true ? await this.#writeRecord(session, record, checkout) : null;
      const note = body.note ?? null;
      const input = inputFor(digestOf(record, checkout), old, { note, file });
      failpoint('handoff.prepared');
      return db.transact((tx) => {
        const now = store.session(tx, sessionId);
        assertFree(tx, now, { store, inbox });
        assertWanted?.(now);
        if (now.last_turn_id !== old.last_turn_id)
          throw conflictError(
            `session ${sessionId} has had another turn meanwhile: hand the session over again`,
          );
        const turn = this.#store(tx, session, { old: now, input });
        if (body.close === true)
          sessions.closeNow(tx, store.session(tx, sessionId), `handed over to ${session.id}`);
        return { session: store.session(tx, session.id), turn_id: turn.turn_id };
      }, saveResponse);
    };
    const answer = await write().catch(async (error: unknown) => {
      await this.#removeRecord(session);
      throw error;
    });
    failpoint('handoff.stored');
    return answer;
  }

  /** Returns the record of the new session, not stored yet. Its permission mode allows no more than before. */
  async #draft(old: Session, body: Request): Promise<Session> {
    const { note: _note, full: _full, close: _close, title, ...settings } = body;
    const session = await this.#deps.sessions.draft({
      ...settings,
      cwd: old.cwd,
      permission_mode: body.permission_mode ?? inheritedMode(old),
      sandbox: old.sandbox,
      title,
    });
    const titled = { title: old.title, title_source: old.title_source };
    const named = titleFrom(body.note);
    const untitled = { title: named, title_source: named === null ? null : ('prompt' as const) };
    return {
      ...session,
      ...(session.title !== null ? {} : old.title === null ? untitled : titled),
      continues: old.id,
    };
  }

  #store(
    tx: Writer,
    session: Session,
    { old, input }: { old: Session; input: ReturnType<typeof inputFor> },
  ) {
    const { store, sessions, claims, limits, inbox, pool, clock } = this.#deps;
    store.createSession(tx, session);
    claims.moveAll(tx, old.id, session.id);
    // The new session continues the turn that a usage limit cut off.
    limits.turnSent(tx, old.id);
    const message = `session ${session.id} continues this session`;
    inbox.holds.put(tx, old.id, { code: 'paused', message, until: null });
    const handed = {
      ...store.session(tx, old.id),
      continued_by: session.id,
      updated_at: clock.now(),
    };
    store.updateSession(tx, handed, 'session.handed_over');
    tx.whenDurable(() => {
      // An agent that cannot resume would lose the conversation.
      if (pool.find(old.id)?.agent.canResume) void pool.end(old.id);
    });
    const opened = store.session(tx, session.id);
    return sessions.sendNow(tx, opened, { source: 'handoff', input });
  }

  async #writeRecord(
    session: Session,
    record: ConversationRecord,
    checkout: CheckoutSummary | null,
  ): Promise<string> {
    const directory = this.#deps.temporaryDirectory(session);
    await fs.mkdir(directory.path, { recursive: true, mode: 0o700 });
    const text = fullRecordOf(record, checkout);
    await fs.writeFile(path.join(directory.path, RECORD), text, { mode: 0o600, flag: 'wx' });
    return path.join(directory.inAgent, RECORD);
  }

  async #removeRecord(session: Session): Promise<void> {
    const directory = this.#deps.temporaryDirectory(session);
    await removeTree(directory.path).catch(() => undefined);
  }
}

function inheritedMode({ permission_mode: mode }: Session): string | null {
  return mode !== null && inheritedPermissionModes.includes(mode) ? mode : null;
}

interface LimitHandoffsDeps extends Pick<ServerParts, 'db' | 'clock' | 'logger' | 'failpoint'> {
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
  readonly #stopping = new AbortController();
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
    this.#stopping.abort();
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

  /** Changes the wait of a session once the disk has room, unless it waits for something else meanwhile. */
  async #change(before: Session, change: (tx: Writer, session: Session) => void): Promise<void> {
    const { store } = this.#deps;
    await persist(this.#deps, this.#stopping.signal, { session_id: before.id }, (tx) => {
      const session = store.session(tx, before.id);
      if (isSameWait(session, before)) change(tx, session);
    });
  }
}

function isSameWait({ usage_limit: one }: Session, { usage_limit: other }: Session): boolean {
  const fields = ['turn_id', 'hands_over_to', 'waits_because'] as const;
  return fields.every((field) => one?.[field] === other?.[field]);
}
