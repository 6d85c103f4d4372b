import { killCarriers } from '../../core/children/identity.ts';
import { MCP_SESSION_VARIABLE } from '../../api/tool-names.ts';
import type { Base } from './base.ts';
import type { Edge, Nouns } from './build.ts';
import { fill } from './hooks.ts';

/**
 * Connects the nouns that need each other: every call of a noun to one that is built after it is here. It must run
 * before anything that calls a hook.
 */
export function connect({ db, logger }: Base, nouns: Nouns, { server }: Edge): void {
  const { providers, sessions, limits, queue, processes, worktrees } = nouns;
  const { snapshots, teams, budgets, gateway } = nouns;

  fill(providers.hooks, { toolsFor: gateway.toolsFor });
  fill(gateway.hooks, { serverUrl: () => server.url });
  fill(sessions.hooks, {
    // The inbox and the pool are parts of the runner, and report to it.
    accepted: (tx, session, turn) => sessions.runner.accepted(tx, session, turn),
    requestInterrupt: (tx, turn) => sessions.runner.requestInterrupt(tx, turn),
    tryAgent: (session, settings) => sessions.runner.tryAgent(session, settings),
    familyOf: (id) => db.peek((rx) => teams.store.rootOf(rx, id)),
    onExit: (agent) => void sessions.runner.agentExited(agent),
    onExpired: (approval) =>
      void sessions.service.expire(approval).catch((error: unknown) => {
        logger.warn({ err: error, approval_id: approval.id }, 'cannot expire an approval');
      }),
    onHoldUntil: (at) => queue.scheduler.wake(at),
    // A usage limit that an agent reports holds the sessions of its account.
    isHeldNow: (tx, id) => limits.isHeldNow(tx, id),
    onTurnEnded: (tx, turn, outcome) => limits.turnEnded(tx, turn, outcome),
    onHoldEnded: (tx, id, code) => limits.released(tx, id, code),
    onAfterLimitChosen: (tx, session) => limits.chosen(tx, session),
    // A session's processes end with it.
    onSessionFailed: (tx, id) => processes.service.killAllOf(tx, id, 'session_failed'),
    onClosing(tx, { id, provider }) {
      tx.whenDurable(() => {
        gateway.offers.forget(id);
        // A process of all sessions keeps the MCP servers of a closed one.
        const isShared = (providers.registry.find(provider)?.stats().pid ?? null) !== null;
        if (isShared)
          void killCarriers(`${MCP_SESSION_VARIABLE}=${id}`).catch((error: unknown) =>
            logger.warn({ err: error, session_id: id }, 'cannot stop the MCP servers of a session'),
          );
      });
      worktrees.claims.releaseAllOf(tx, id);
      budgets.guard.sessionClosed(tx, id);
      processes.service.killAllOf(tx, id, 'session_closed');
    },
    beforeTurn: (session, turn, signal) => snapshots.taker.before(session, turn, signal),
    afterTurn(session, turn) {
      gateway.offers.turnEnded(session, turn.turn_id);
      snapshots.taker.after(session, turn);
    },
    // The sessions of a team.
    agentsOf: (rx, teamId) => teams.service.agentsOf(rx, teamId),
    onTurnSent(tx, session) {
      limits.turnSent(tx, session.id);
      teams.messages.resetHops(tx, session);
    },
  });
  fill(teams.hooks, {
    takesTools: (id) => gateway.offers.isTaken(id),
    onDeleted: (tx, id) => budgets.guard.teamDeleted(tx, id),
    onLeft: (tx, id) => budgets.guard.memberLeft(tx, id),
  });
}
