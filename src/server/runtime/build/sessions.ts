import path from 'node:path';
import type { Session } from '../../../api/sessions.ts';
import { ApprovalBroker } from '../../conversations/approvals/approval-broker.ts';
import { RuleService } from '../../conversations/approvals/rules/service.ts';
import { Holds } from '../../conversations/inbox/holds.ts';
import { Inbox } from '../../conversations/inbox/inbox.ts';
import { ImportReader } from '../../conversations/imports/reader.ts';
import { ImportService } from '../../conversations/imports/service.ts';
import { ImportStore } from '../../conversations/imports/store.ts';
import { Scheduler } from '../../conversations/inbox/scheduler.ts';
import { AgentPool } from '../../conversations/sessions/agent-pool.ts';
import { AgentReadPositions } from '../../conversations/sessions/agent-read-positions.ts';
import { forkPointOf } from '../../conversations/forks/service.ts';
import { recordForPrompt } from '../../conversations/handoff/digest.ts';
import { Blobs } from '../../conversations/sessions/blobs.ts';
import type { SessionObserver } from '../../conversations/sessions/observer.ts';
import { AgentOutputs } from '../../conversations/sessions/outputs.ts';
import { SessionService } from '../../conversations/sessions/service.ts';
import { SessionStore } from '../../conversations/sessions/store.ts';
import { TurnRunner } from '../../conversations/sessions/turn-runner.ts';
import { BudgetApprovals } from '../../conversations/usage/budgets/budget-approvals.ts';
import { BudgetGuard } from '../../conversations/usage/budgets/guard.ts';
import { BudgetService } from '../../conversations/usage/budgets/service.ts';
import { BudgetStore } from '../../conversations/usage/budgets/store.ts';
import { Limits } from '../../conversations/usage/limits/service.ts';
import { UsageService } from '../../conversations/usage/service.ts';
import type { TeamStore } from '../../teams/store.ts';
import type { Base } from '../base.ts';
import type { Children } from './children.ts';
import { isReadOnly, type Providers } from './providers.ts';
import type { Storage } from './storage.ts';

export type Sessions = ReturnType<typeof buildSessions>;

/** Builds sessions, their turns and approvals, the agents that run them, and what holds them. */
export function buildSessions(
  base: Base,
  needs: { storage: Storage; children: Children; providers: Providers; teams: TeamStore },
) {
  const { config, db, directory } = base;
  const { providers, teams, children } = needs;
  const { assertRoom } = needs.storage;
  const inSandbox = ({ sandbox }: Session) => children.sandbox.holdsAgent(sandbox);
  const kinds = providers.registry;
  const observer: SessionObserver = {};
  const store = new SessionStore(base);
  const scheduler = new Scheduler(base);
  const holds = new Holds({ ...base, scheduler });
  const inbox = new Inbox({ ...base, sessionStore: store, holds, scheduler });
  const budgets = buildBudgets(base, { store, inbox, scheduler, teams });
  const blobs = new Blobs(path.join(directory, 'blobs'), assertRoom);
  const { readers, outputs } = buildOutputs(base, children, { store, inbox, blobs, budgets });
  const pool = new AgentPool({
    ...base,
    kinds,
    outputs,
    maxLive: () => config.now.providers.max_live,
    idleTimeoutMs: () => config.now.providers.idle_timeout_ms,
    familyOf: (sessionId) => db.peek((rx) => teams.rootOf(rx, sessionId)),
    forkPointOf: (session) => db.peek((rx) => forkPointOf(rx, session, store)),
    suits({ session: before, isAttached, agent }, now) {
      if (!agent.canResume) return true;
      const isSandboxed = children.sandbox.filesOfAgent(now.id) !== undefined;
      // The configuration of a sandbox may have changed since an earlier server started the agent.
      if (isAttached) return !isSandboxed && !inSandbox(now);
      return !inSandbox(now) || isReadOnly(before) === isReadOnly(now);
    },
  });
  const agents = { sessionStore: store, pool, kinds };
  const limits = new Limits({
    ...base,
    ...agents,
    inbox,
    observer,
    afterLimit: () => config.now.sessions.after_limit,
  });
  const rules = new RuleService(base);
  const broker = new ApprovalBroker({
    ...base,
    store,
    rules,
    inbox,
    budgets: budgets.guard,
    timeoutMs: () => config.now.approvals.timeout_ms,
    maxPending: () => config.now.approvals.max_pending_per_session,
  });
  const importStore = new ImportStore(base);
  const reader = new ImportReader({ ...base, ...agents, store: importStore });
  const lower = { store, inbox, pool, broker, blobs, observer, limits };
  const runner = new TurnRunner({
    ...base,
    ...lower,
    outputs,
    // Only a sandbox depends on the mode of a turn: without one, the agent itself changes its mode.
    withModeOfTurn: (session, permission_mode) =>
      inSandbox(session) ? { ...session, permission_mode } : session,
    imports: reader,
    recordFor: (id) =>
      db.peek((rx) => recordForPrompt(rx, id, { ...base, store, imports: importStore })),
    turnTimeoutMs: () => config.now.sessions.turn_timeout_ms,
  });
  const service = new SessionService({
    ...base,
    ...lower,
    runner,
    budgets: budgets.guard,
    teams,
    kinds,
    assertRoom,
    imports: reader,
  });
  const shared = { store: importStore, sessionStore: store, sessions: service, reader };
  const imports = { ...shared, service: new ImportService({ ...base, ...shared, pool, kinds }) };
  return { ...lower, readers, scheduler, budgets, rules, runner, service, imports };
}

/** Builds the outputs of turns. How far they are handled is stored only if agents may outlive the server. */
function buildOutputs(
  base: Base,
  { shim }: Children,
  parts: { store: SessionStore; inbox: Inbox; blobs: Blobs; budgets: { guard: BudgetGuard } },
) {
  const readers = new AgentReadPositions(base);
  const rows = shim && { readers };
  const outputs = new AgentOutputs({ ...base, ...parts, budgets: parts.budgets.guard, ...rows });
  return { readers, outputs };
}

/** Builds the sums of the usage of turns, and the budgets for it. */
function buildBudgets(
  base: Base,
  needs: { store: SessionStore; inbox: Inbox; scheduler: Scheduler; teams: TeamStore },
) {
  const { store: sessionStore, inbox, scheduler, teams } = needs;
  const usage = new UsageService({ ...base, sessionStore, teams });
  const store = new BudgetStore(base);
  const asking = new BudgetApprovals({ ...base, sessionStore, teams });
  const guard = new BudgetGuard({ ...base, store, asking, sessionStore, inbox, scheduler, teams });
  const service = new BudgetService({ ...base, store, guard, sessionStore, teams });
  return { usage, guard, service };
}
