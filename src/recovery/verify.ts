import type { RecoverySummary } from '../api/runtime.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Provider } from '../providers/provider.ts';
import { failSessionInRows } from '../sessions/fail-session.ts';
import { knownSession } from '../sessions/session.ts';
import type { AgentPool } from '../sessions/agent-pool.ts';
import type { Inbox } from '../sessions/inbox.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Database } from '../store/database.ts';
import type { Writer } from '../store/transaction.ts';

/**
 * Checks in the background that each provider still has its sessions. A session that the provider has lost becomes
 * `failed`, and is added to the summary. A session on the provider's list counts as existing; for any other the
 * provider is asked singly, while the session has no agent. Busy sessions, and sessions of a provider without a list,
 * are not checked, because their next start of an agent reports the loss.
 */
export async function verifySessions(options: {
  db: Database;
  store: SessionStore;
  pool: AgentPool;
  inbox: Inbox;
  /** Runs in the transaction that fails a session, to end the session's processes once that is on disk. */
  onSessionFailed: (tx: Writer, sessionId: string) => void;
  clock: Clock;
  logger: Logger;
  providers: readonly Provider[];
  summary: RecoverySummary;
  signal: AbortSignal;
}): Promise<void> {
  const { db, store, pool, clock, logger, providers, summary, signal } = options;
  for (const provider of providers) {
    const sessions = await db.read((rx) => store.resumableSessions(rx, provider.id));
    if (sessions.length === 0 || provider.problem() !== null) continue;
    const listed = await orNull(provider.listed(signal));
    if (!listed) continue;
    for (const session of sessions) {
      const providerSession = knownSession(session);
      if (providerSession === null || listed.has(providerSession.ref) || signal.aborted) continue;
      const has = await pool.whileIdle(session.id, () =>
        orNull(provider.has(providerSession, signal)),
      );
      if (has === false) await fail(session.id, provider.id);
    }
  }
  summary.status = 'done';
  summary.ended_at = clock.now();

  /** Resolves with the provider's result; null if the request fails. */
  async function orNull<T>(result: Promise<T>): Promise<T | null> {
    try {
      return await result;
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'sessions could not be verified');
      return null;
    }
  }

  async function fail(id: string, provider: string): Promise<void> {
    const failure = {
      code: 'resume_failed',
      message: `${provider} no longer has this session`,
    };
    await db.transact((tx) => {
      // The session was closed meanwhile, or has a turn, whose agent reports the loss.
      if (store.session(tx, id).status !== 'ready') return;
      failSessionInRows(tx, id, failure, options);
      options.onSessionFailed(tx, id);
      tx.whenDurable(() => summary.sessions_failed.push({ session_id: id, ...failure }));
    });
  }
}
