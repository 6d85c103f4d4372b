import path from 'node:path';
import type { Approval } from '../../../api/approvals.ts';
import { RuleService } from '../../conversations/approvals/rules/service.ts';
import { AgentPool } from '../../conversations/sessions/agent-pool.ts';
import { ApprovalBroker } from '../../conversations/approvals/approval-broker.ts';
import { Blobs } from '../../conversations/sessions/blobs.ts';
import { Holds } from '../../conversations/inbox/holds.ts';
import { Inbox } from '../../conversations/inbox/inbox.ts';
import { SessionService } from '../../conversations/sessions/service.ts';
import { SessionStore } from '../../conversations/sessions/store.ts';
import { TurnRunner } from '../../conversations/sessions/turn-runner.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { Base } from '../base.ts';
import type { NeedsOf } from '../hooks.ts';
import type { Children } from './children.ts';
import type { Providers } from './providers.ts';
import type { Storage } from './storage.ts';

/** The functions that the parts of sessions call of each other and of later nouns; each is described at its caller. */
interface SessionHooks
  extends
    Pick<NeedsOf<typeof Inbox>, 'accepted' | 'requestInterrupt' | 'tryAgent'>,
    Pick<NeedsOf<typeof AgentPool>, 'familyOf' | 'onExit'>,
    Pick<NeedsOf<typeof ApprovalBroker>, 'onExpired'>,
    Pick<
      NeedsOf<typeof TurnRunner>,
      'onSessionFailed' | 'onTurnEnded' | 'beforeTurn' | 'afterTurn'
    >,
    Pick<
      NeedsOf<typeof SessionService>,
      'onClosing' | 'agentsOf' | 'onTurnSent' | 'onAfterLimitChosen'
    > {
  isHeldNow: NonNullable<NeedsOf<typeof Inbox>['isHeldNow']>;
  onHoldEnded: NonNullable<NeedsOf<typeof Holds>['onEnded']>;
  onHoldUntil: NeedsOf<typeof Holds>['onTime'];
}

/** What budgets say to turns. They are filled as soon as budgets are built, because recovery ends turns. */
interface BudgetHooks
  extends
    Pick<NeedsOf<typeof Inbox>, 'onTurnEnded' | 'budgetHolds'>,
    Pick<NeedsOf<typeof SessionService>, 'assertBudget'>,
    Pick<NeedsOf<typeof TurnRunner>, 'onUsage' | 'onUsageAmended'> {
  onBudgetAnswered: (tx: Writer, approval: Approval) => void;
}

export type Sessions = ReturnType<typeof buildSessions>;

/** Builds sessions, their turns and approvals, and the agents that run them. */
export function buildSessions(
  base: Base,
  needs: { storage: Storage; children: Children; providers: Providers },
) {
  const { config, directory } = base;
  const { registry } = needs.providers;
  const hooks = {} as SessionHooks;
  const budgets = {} as BudgetHooks;
  const store = new SessionStore(base);
  const holds = new Holds({
    ...base,
    onTime: (at) => hooks.onHoldUntil(at),
    onEnded: (tx, sessionId, code) => hooks.onHoldEnded(tx, sessionId, code),
  });
  const inbox = new Inbox({
    ...base,
    sessionStore: store,
    holds,
    accepted: (tx, session, turn) => hooks.accepted(tx, session, turn),
    isHeldNow: (tx, sessionId) => hooks.isHeldNow(tx, sessionId),
    requestInterrupt: (tx, turn) => hooks.requestInterrupt(tx, turn),
    tryAgent: (session, settings) => hooks.tryAgent(session, settings),
    onTurnEnded: (tx, turn) => budgets.onTurnEnded(tx, turn),
    budgetHolds: (rx, id) => budgets.budgetHolds(rx, id),
  });
  const pool = new AgentPool({
    ...base,
    maxLive: () => config.now.providers.max_live,
    idleTimeoutMs: () => config.now.providers.idle_timeout_ms,
    kindOf: ({ provider, agent }) => registry.usable(provider, agent),
    familyOf: (sessionId) => hooks.familyOf(sessionId),
    onExit: (agent) => hooks.onExit(agent),
  });
  const { rules, broker } = buildApprovals(base, {
    store,
    inbox,
    hooks,
    budgets,
  });
  const blobs = new Blobs(path.join(directory, 'blobs'), needs.storage.assertRoom);
  const runner = new TurnRunner({
    ...base,
    store,
    blobs,
    pool,
    broker,
    inbox,
    onSessionFailed: (tx, id) => hooks.onSessionFailed(tx, id),
    beforeTurn: (session, turn, signal) => hooks.beforeTurn(session, turn, signal),
    afterTurn: (session, turn) => hooks.afterTurn(session, turn),
    onUsage: (tx, turn, usage) => budgets.onUsage(tx, turn, usage),
    onUsageAmended: (tx, turn, before) => budgets.onUsageAmended(tx, turn, before),
    onTurnEnded: (tx, turn, outcome) => hooks.onTurnEnded(tx, turn, outcome),
    turnTimeoutMs: () => config.now.sessions.turn_timeout_ms,
  });
  const service = new SessionService({
    ...base,
    store,
    runner,
    pool,
    broker,
    inbox,
    blobs,
    onClosing: (tx, session) => hooks.onClosing(tx, session),
    agentsOf: (rx, teamId) => hooks.agentsOf(rx, teamId),
    onTurnSent: (tx, session) => hooks.onTurnSent(tx, session),
    onAfterLimitChosen: (tx, session) => hooks.onAfterLimitChosen(tx, session),
    assertRoom: needs.storage.assertRoom,
    assertBudget: (rx, id) => budgets.assertBudget(rx, id),
    agentFor: (id, asked) => registry.agentFor(id, asked),
    availableKind: ({ provider, agent }) => registry.usable(provider, agent),
    objectionOf: ({ provider, agent }, settings) => registry.objection(provider, agent, settings),
  });
  return { store, holds, inbox, pool, rules, broker, runner, blobs, service, hooks, budgets };
}

/** Builds what asks people, and decides for them by rules. */
function buildApprovals(base: Base, { store, inbox, hooks, budgets }: ApprovalNeeds) {
  const { config } = base;
  const rules = new RuleService(base);
  const broker = new ApprovalBroker({
    ...base,
    store,
    ruleDecisionOn: (request, session) => rules.decide(request, session),
    timeoutMs: () => config.now.approvals.timeout_ms,
    maxPending: () => config.now.approvals.max_pending_per_session,
    onExpired: (approval) => hooks.onExpired(approval),
    onResolved(tx, approval) {
      if (approval.kind === 'budget') budgets.onBudgetAnswered(tx, approval);
      else inbox.atBoundary(tx, approval.session_id);
    },
  });
  return { rules, broker };
}

interface ApprovalNeeds {
  store: SessionStore;
  inbox: Inbox;
  hooks: SessionHooks;
  budgets: BudgetHooks;
}
