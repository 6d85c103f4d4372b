import { MCP_SESSION_VARIABLE } from '../../api/tool-names.ts';
import { killCarriers } from '../../core/children/identity.ts';
import type { SessionObserver } from '../conversations/sessions/observer.ts';
import type { Base } from './base.ts';
import type { Nouns } from './build.ts';

/** Connects each noun with the nouns that are built after it. It must run before any agent starts. */
export function connect({ logger }: Base, nouns: Nouns): void {
  const { children, providers, sessions, goals, processes } = nouns;
  const { worktrees, snapshots, teams, gateway } = nouns;
  const { observer, budgets } = sessions;
  providers.connectTools(gateway.toolsFor);
  Object.assign(observer, {
    closing(tx, session) {
      const { id, provider } = session;
      tx.whenDurable(() => {
        gateway.offers.forget(id);
        void children.sandbox.removeSession(id);
        // A process of all sessions keeps the MCP servers of a closed one.
        const isShared = (providers.registry.find(provider)?.stats().pid ?? null) !== null;
        if (isShared)
          void killCarriers(`${MCP_SESSION_VARIABLE}=${id}`).catch((error: unknown) =>
            logger.warn({ err: error, session_id: id }, 'cannot stop the MCP servers of a session'),
          );
      });
      worktrees.claims.releaseAllOf(tx, id);
      budgets.guard.dropAll(tx, { session_id: id, team_id: null }, 'closed');
      goals.service.sessionClosed(tx, id);
      sessions.imports.service.sessionClosed(tx, session);
      processes.service.killAllOf(tx, id, 'session_closed');
    },
    failed: (tx, id) => processes.service.killAllOf(tx, id, 'session_failed'),
    turnSent: (tx, session) => teams.messages.resetHops(tx, session),
    beforeTurn: (session, turn, signal) => snapshots.taker.before(session, turn, signal),
    afterTurn(session, turn) {
      gateway.offers.turnEnded(session, turn.turn_id);
      snapshots.taker.after(session, turn);
    },
  } satisfies SessionObserver);
}
