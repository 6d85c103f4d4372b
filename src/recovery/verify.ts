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
 * Asks each provider, in the background, for the sessions it should still have; one it has not any more becomes
 * `failed`, and is added to the summary. A session on the provider's list is taken to exist; one that is not on it is
 * asked for by itself, while it has no agent. Sessions that are at work find out by themselves, and so do those of a
 * provider that has no list.
 */
export async function verifySessions(given: {
  db: Database;
  store: SessionStore;
  pool: AgentPool;
  inbox: Inbox;
  /** Runs in the transaction that fails a session: its processes end once that is on disk. */
  onSessionFailed: (tx: Writer, sessionId: string) => void;
  clock: Clock;
  logger: Logger;
  providers: readonly Provider[];
  summary: RecoverySummary;
  signal: AbortSignal;
}): Promise<void> {
  const { db, store, pool, clock, logger, providers, summary, signal } = given;
  for (const provider of providers) {
    const sessions = await db.read((rx) => store.resumableSessions(rx, provider.id));
    if (sessions.length === 0 || provider.problem() !== null) continue;
    const listed = await orNull(provider.listed(signal));
    if (!listed) continue;
    for (const session of sessions) {
      const known = knownSession(session);
      if (known === null || listed.has(known.ref) || signal.aborted) continue;
      const has = await pool.whileIdle(session.id, () => orNull(provider.has(known, signal)));
      if (has === false) await fail(session.id, provider.id);
    }
  }
  summary.status = 'done';
  summary.ended_at = clock.now();

  /** The answer of a provider; null where it could give none. */
  async function orNull<T>(answer: Promise<T>): Promise<T | null> {
    try {
      return await answer;
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'sessions could not be verified');
      return null;
    }
  }

  async function fail(id: string, provider: string): Promise<void> {
    const failure = {
      code: 'resume_failed',
      message: `${provider} does not have this session any more`,
    };
    await db.transact((tx) => {
      // It was closed, or got to work and will find out by itself.
      if (store.session(tx, id).status !== 'ready') return;
      failSessionInRows(tx, id, failure, given);
      given.onSessionFailed(tx, id);
      tx.whenDurable(() => summary.sessions_failed.push({ session_id: id, ...failure }));
    });
  }
}
