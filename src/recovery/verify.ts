import type { RecoverySummary } from '../api/runtime.ts';
import type { Session } from '../api/sessions.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Provider } from '../providers/provider.ts';
import { failSession } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Database } from '../store/database.ts';

/**
 * Asks each provider, in the background, for the sessions it should still have; one it has not any more becomes
 * `failed`, and is added to the summary. Sessions that are at work find out by themselves.
 */
export async function verifySessions(given: {
  db: Database;
  store: SessionStore;
  clock: Clock;
  logger: Logger;
  providers: readonly Provider[];
  summary: RecoverySummary;
  signal: AbortSignal;
}): Promise<void> {
  const { db, store, clock, logger, providers, summary, signal } = given;
  for (const provider of providers) {
    const sessions = await db.read(() => store.resumableSessions(provider.id));
    if (sessions.length === 0 || provider.problem() !== null) continue;
    try {
      const asked = sessions.map(({ provider_session_ref: ref, cwd }) => ({ ref: ref ?? '', cwd }));
      const missing = new Set(await provider.missing(asked, signal));
      for (const session of sessions)
        if (missing.has(session.provider_session_ref ?? '')) await fail(session);
    } catch (error) {
      if (!signal.aborted)
        logger.warn({ err: error, provider: provider.id }, 'sessions could not be verified');
    }
  }
  summary.status = 'done';
  summary.ended_at = clock.now();

  async function fail({ id, provider }: Session): Promise<void> {
    const failure = {
      code: 'resume_failed',
      message: `${provider} does not have this session any more`,
    };
    const isFailed = await db.transact(() => {
      const now = store.session(id);
      // It was closed, or got to work and will find out by itself.
      if (now.status !== 'ready') return false;
      store.updateSession(failSession(now, failure, clock.now()), 'session.failed');
      return true;
    });
    if (isFailed) summary.sessions_failed.push({ session_id: id, ...failure });
  }
}
