import type { RecoverySummary } from '../api/runtime.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Provider } from '../providers/provider.ts';
import { failSession, knownSession } from '../sessions/session.ts';
import type { AgentPool } from '../sessions/agent-pool.ts';
import type { Inbox } from '../sessions/inbox.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Database } from '../store/database.ts';

/**
 * Asks each provider, in the background, for the sessions it should still have; one it has not any more becomes
 * `failed`, and is added to the summary. What is on its list is taken for there; only what is not is asked for by
 * itself, while its session has no agent. Sessions that are at work find out by themselves, and so do those of a
 * provider that has no list.
 */
export async function verifySessions(given: {
  db: Database;
  store: SessionStore;
  pool: AgentPool;
  inbox: Inbox;
  /** Told of a session that failed. */
  onSessionFailed: (sessionId: string) => void;
  clock: Clock;
  logger: Logger;
  providers: readonly Provider[];
  summary: RecoverySummary;
  signal: AbortSignal;
}): Promise<void> {
  const { db, store, pool, inbox, clock, logger, providers, summary, signal } = given;
  for (const provider of providers) {
    const sessions = await db.read(() => store.resumableSessions(provider.id));
    if (sessions.length === 0 || provider.problem() !== null) continue;
    const listed = await told(provider.listed(signal));
    if (!listed) continue;
    for (const session of sessions) {
      const known = knownSession(session);
      if (known === null || listed.has(known.ref) || signal.aborted) continue;
      const has = await pool.whileIdle(session.id, () => told(provider.has(known, signal)));
      if (has === false) await fail(session.id, provider.id);
    }
  }
  summary.status = 'done';
  summary.ended_at = clock.now();

  /** Null where it could not be told. */
  async function told<T>(answer: Promise<T>): Promise<T | null> {
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
    const isFailed = await db.transact(() => {
      const now = store.session(id);
      // It was closed, or got to work and will find out by itself.
      if (now.status !== 'ready') return false;
      const failed = failSession(now, failure, clock.now());
      inbox.giveUp(failed);
      store.updateSession(failed, 'session.failed');
      return true;
    });
    if (!isFailed) return;
    summary.sessions_failed.push({ session_id: id, ...failure });
    given.onSessionFailed(id);
  }
}
