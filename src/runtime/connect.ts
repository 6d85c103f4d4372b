import type { Base } from './base.ts';
import type { Edge, Nouns } from './build.ts';
import { fill } from './hooks.ts';

/**
 * Joins the nouns that need each other: whatever a noun calls of one that is built after it is here. Before anything
 * that calls a hook starts.
 */
export function connect({ logger }: Base, nouns: Nouns, { server }: Edge): void {
  const { providers, sessions, processes, worktrees, teams, gateway } = nouns;

  fill(providers.hooks, { toolsFor: gateway.toolsFor });
  fill(gateway.hooks, { serverUrl: () => server.url });
  fill(sessions.hooks, {
    // The inbox and the pool are the runner's own parts, and report to it.
    start: (turn) => sessions.runner.start(turn),
    requestInterrupt: (tx, turn) => sessions.runner.requestInterrupt(tx, turn),
    onExit: (agent) => void sessions.runner.agentExited(agent),
    onExpired: (approval) =>
      void sessions.service.expire(approval).catch((error: unknown) => {
        logger.warn({ err: error, approval_id: approval.id }, 'an approval could not expire');
      }),
    // What hangs on a session ends with it.
    onSessionFailed: (tx, id) => processes.service.killAllOf(tx, id, 'session_failed'),
    onClosing(tx, { id }) {
      worktrees.claims.releaseAllOf(tx, id);
      processes.service.killAllOf(tx, id, 'session_closed');
    },
    // Sessions of a team.
    agentsOf: (rx, teamId) => teams.service.agentsOf(rx, teamId),
    onTurnSent: (tx, session) => teams.messages.resetHops(tx, session),
  });
}
