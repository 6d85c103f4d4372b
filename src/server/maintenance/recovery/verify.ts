import { DEFAULT_AGENT } from '../../../api/provider-kinds.ts';
import type { RecoverySummary } from '../../../api/runtime.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { agentKindOf, type Provider } from '../../../agents/provider.ts';
import type { Session } from '../../../api/sessions.ts';
import { failSessionInRows } from '../../conversations/sessions/turn-rows.ts';
import { knownSession } from '../../conversations/sessions/session.ts';
import type { AgentPool } from '../../conversations/sessions/agent-pool.ts';
import type { Inbox } from '../../conversations/inbox/inbox.ts';
import type { SessionObserver } from '../../conversations/sessions/observer.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';

/**
 * Checks in the background that each agent still has its sessions. A session that its agent has lost becomes
 * `failed`, and is added to the summary. A session on the agent's list counts as existing; for any other the
 * agent is asked singly, while the session has no agent. Busy sessions, and sessions of an agent without a list,
 * are not checked, because their next start of an agent reports the loss.
 */
export async function verifySessions(
  options: Pick<ServerParts, 'db' | 'clock' | 'logger'> & {
    store: SessionStore;
    pool: AgentPool;
    inbox: Inbox;
    observer: SessionObserver;
    providers: readonly Provider[];
    summary: RecoverySummary;
    signal: AbortSignal;
  },
): Promise<void> {
  const { db, store, pool, clock, logger, providers, summary, signal } = options;
  try {
    for (const provider of providers) {
      const resumable = await db.read((rx) => store.resumableSessions(rx, provider.id));
      const byAgent = Map.groupBy(resumable, ({ agent }) => agent);
      for (const [agent, sessions] of byAgent) await verify(provider, agent, sessions);
    }
  } finally {
    summary.status = 'done';
    summary.ended_at = clock.now();
  }

  async function verify(
    provider: Provider,
    agent: string | null,
    sessions: readonly Session[],
  ): Promise<void> {
    const kind = agentKindOf(provider, agent);
    if (!kind || kind.problem() !== null) return;
    const listed = await orNull(kind.listed(signal));
    if (!listed) return;
    for (const session of sessions) {
      const known = knownSession(session);
      if (known === null || listed.has(known.ref) || signal.aborted) continue;
      const has = await pool.whileIdle(session.id, () => orNull(kind.has(known, signal)));
      if (has === false) await fail(session.id, nameOf(provider, agent));
    }
  }

  /** Resolves with the provider's result; null if the request fails. */
  async function orNull<T>(result: Promise<T>): Promise<T | null> {
    try {
      return await result;
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'cannot verify sessions');
      return null;
    }
  }

  async function fail(id: string, who: string): Promise<void> {
    const failure = {
      code: 'resume_failed',
      message: `agent ${who} no longer has this session`,
    };
    await db.transact((tx) => {
      // The session was closed meanwhile, or has a turn, whose agent reports the loss.
      if (store.session(tx, id).status !== 'ready') return;
      failSessionInRows(tx, id, failure, options);
      options.observer.failed?.(tx, id);
      tx.whenDurable(() => summary.sessions_failed.push({ session_id: id, ...failure }));
    });
  }
}

/** Returns the name of an agent in texts for people. */
function nameOf({ id }: Provider, agent: string | null): string {
  return agent === null || agent === DEFAULT_AGENT ? id : agent;
}
