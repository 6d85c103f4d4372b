import path from 'node:path';
import type { Session } from '../../api/sessions.ts';
import { MCP_SESSION_VARIABLE } from '../../api/tool-names.ts';
import { inputDetails } from '../../agents/details.ts';
import type { HostAnswer } from '../../core/children/sandbox/network/host-approvals.ts';
import type { RefusedHost } from '../../core/children/sandbox/network/proxy.ts';
import { killCarriers } from '../../core/children/identity.ts';
import type { SessionObserver } from '../conversations/sessions/observer.ts';
import type { Base } from './base.ts';
import type { Components } from './build.ts';
import { sessionEnded } from './session-end.ts';

/** Connects each component with the components that are built after it. It must run before any agent starts. */
export function connect(base: Base, components: Components): void {
  const { logger } = base;
  const { children, providers, sessions, goals, watches, processes } = components;
  const { worktrees, snapshots, teams, gateway, limitHandoffs } = components;
  const { observer, budgets } = sessions;
  providers.connectTools(gateway.toolsFor);
  children.networks.connectPeople({
    async ask(owner, ...asked) {
      const id = sessionOf(owner);
      return id === null ? 'nobody' : askForHost(sessions, id, ...asked);
    },
    refused: (owner, refused) => reportHost(base, sessions, owner, refused),
  });
  worktrees.initScripts.onTrusted(() => limitHandoffs.retry());
  Object.assign(observer, {
    closing(tx, session) {
      const { id, provider } = session;
      tx.whenDurable(() => {
        gateway.offers.forget(id);
        removeSandbox(base, components, session);
        // A process of all sessions keeps the MCP servers of a closed one.
        const isShared = (providers.registry.find(provider)?.stats().pid ?? null) !== null;
        if (isShared)
          void killCarriers(`${MCP_SESSION_VARIABLE}=${id}`).catch((error: unknown) =>
            logger.warn({ err: error, session_id: id }, 'cannot stop the MCP servers of a session'),
          );
      });
      worktrees.claims.releaseAllOf(tx, id);
      budgets.guard.dropAll(tx, { session_id: id, team_id: null }, 'closed');
      goals.sessionClosed(tx, id);
      watches.sessionClosed(tx, id);
      sessions.imports.service.sessionClosed(tx, session);
      processes.service.killAllOf(tx, { session_id: id }, 'session_closed');
    },
    failed: (tx, id) => processes.service.killAllOf(tx, { session_id: id }, 'session_failed'),
    turnSent: (tx, session) => teams.messages.resetHops(tx, session),
    handoffDue: (tx, id) => tx.whenDurable(() => limitHandoffs.start(id)),
    beforeTurn(session, turn, signal) {
      const parts = [snapshots.taker, snapshots.movedBranches];
      const waits = parts.flatMap((part) => part.before(session, turn, signal) ?? []);
      return waits.length === 0 ? null : Promise.all(waits).then(() => undefined);
    },
    afterTurn(session, turn) {
      gateway.offers.turnEnded(session, turn.turn_id);
      snapshots.taker.after(session, turn);
      snapshots.movedBranches.after(session, turn);
      if (children.sandbox.filesOfAgent(session.id)) void children.sandbox.sweep(session.cwd);
    },
  } satisfies SessionObserver);
}

/** Removes the sandbox of a closed session once its children have ended: they can still write its directories. */
function removeSandbox(base: Base, components: Components, { id, cwd }: Session): void {
  const { sandbox } = components.children;
  const hasAgent = sandbox.filesOfAgent(id) !== undefined;
  const ended = sessionEnded(base, components, id).then(() =>
    hasAgent ? sandbox.sweep(cwd) : null,
  );
  void sandbox
    .removeSession(id, ended)
    .catch((error: unknown) =>
      base.logger.warn({ err: error, session_id: id }, 'cannot remove a sandbox'),
    );
}

/** Returns the session whose processes have these own directories; null: another owner. */
function sessionOf(owner: string): string | null {
  const id = path.basename(owner);
  return id.startsWith('sess_') ? id : null;
}

/** Reports a refused host to the people of a session, and in the log. */
function reportHost(
  { db, log, logger }: Base,
  { store }: Components['sessions'],
  owner: string,
  refused: RefusedHost,
): void {
  logger.warn({ owner: path.basename(owner), ...refused }, 'a sandbox does not reach a host');
  const session_id = sessionOf(owner);
  if (session_id === null) return;
  db.transact((tx) => {
    const { active_turn_id: turn_id } = store.session(tx, session_id);
    log.append(tx, { kind: 'sandbox.host_refused', session_id, turn_id, payload: refused });
  }).catch((error: unknown) => logger.warn({ err: error }, 'cannot report a refused host'));
}

/** Asks whether the processes of a session may reach a host that no list names. In `read_only` nobody is asked. */
async function askForHost(
  { service, runner }: Components['sessions'],
  sessionId: string,
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<HostAnswer> {
  const { mode, canAsk } = await service.permission(sessionId);
  if (!canAsk || mode === 'read_only') return 'nobody';
  const request = { host, port };
  const answer = await runner.ask(
    sessionId,
    {
      kind: 'tool',
      tool: 'network',
      title: `reach ${host}:${port} from the sandbox`,
      request,
      details: inputDetails(request),
      subject: request,
      scopes: ['once', 'session'],
      sessionAllows: `connections to ${host}:${port}`,
      isKeptByCadre: true,
    },
    signal,
  );
  if (answer.decision === 'accept') return answer.scope === 'session' ? 'session' : 'once';
  return answer.decision === 'decline' ? 'no' : 'nobody';
}
