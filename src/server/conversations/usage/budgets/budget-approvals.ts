import type { Approval } from '../../../../api/approvals.ts';
import type { Budget } from '../../../../api/budgets.ts';
import type { Turn } from '../../../../api/sessions.ts';
import type { ServerParts } from '../../../../core/events/server-parts.ts';
import { amountsText, spentText } from '../../../../core/lib/amounts.ts';
import { resolveApproval, unanswered } from '../../approvals/approval.ts';
import type { SessionStore } from '../../sessions/store.ts';
import type { Reader, Writer } from '../../../../core/store/transaction.ts';
import { onceMore } from './budget.ts';

interface BudgetAskingDeps extends Pick<ServerParts, 'log' | 'clock' | 'ids'> {
  sessionStore: SessionStore;
  teams: { nameOf: (rx: Reader, id: string) => string | null };
}

/** Asks people about budgets: by an approval of the session whose turn ended last. */
export class BudgetApprovals {
  readonly #deps: BudgetAskingDeps;

  constructor(deps: BudgetAskingDeps) {
    this.#deps = deps;
  }

  labelOf(rx: Reader, budget: Budget): string {
    const { sessionStore, teams } = this.#deps;
    const { session_id, team_id } = budget;
    if (session_id !== null)
      return labelOf(budget, sessionStore.sessions.get(rx, session_id)?.title ?? null);
    return labelOf(budget, team_id === null ? null : teams.nameOf(rx, team_id));
  }

  /** Opens the approval of a budget that is used up. `turn` has ended. */
  ask(tx: Writer, budget: Budget, turn: Turn): Pick<Budget, 'approval_id' | 'approval_session_id'> {
    const { sessionStore, clock, ids } = this.#deps;
    const session = sessionStore.session(tx, turn.session_id);
    const approval: Approval = {
      id: ids.next('apr'),
      session_id: session.id,
      turn_id: turn.turn_id,
      provider: session.provider,
      kind: 'budget',
      title: `continue although the budget of ${this.labelOf(tx, budget)} is used up?`,
      request: { budget_id: budget.id },
      details: [
        { type: 'input', name: 'used', value: spentText(budget) },
        { type: 'input', name: 'limit if accepted', value: amountsText(onceMore(budget)) },
        { type: 'input', name: 'if declined', value: 'no turn starts until you change the budget' },
      ],
      scopes: ['once'],
      session_allows: null,
      subject: null,
      questions: null,
      ...unanswered,
      expires_at: null,
      created_at: clock.now(),
      resolved_at: null,
    };
    sessionStore.requestBudgetApproval(tx, turn, approval);
    return { approval_id: approval.id, approval_session_id: session.id };
  }

  lastTurn(rx: Reader, budget: Budget): Turn | null {
    const { sessionStore } = this.#deps;
    const last = sessionStore.usage.last(rx, budget);
    return last === undefined ? null : (sessionStore.turns.get(rx, last) ?? null);
  }

  cancel(tx: Writer, { approval_id }: Budget, reason: string): void {
    const { sessionStore, clock } = this.#deps;
    const approval = approval_id === null ? undefined : sessionStore.approvals.get(tx, approval_id);
    if (approval?.status !== 'pending') return;
    const cancelled = resolveApproval(approval, { status: 'cancelled', reason }, clock.now());
    sessionStore.resolveApproval(tx, cancelled);
  }

  /** Appends a notice, with the first such turn, that a budget does not count unreported usage. */
  warnOf(tx: Writer, budget: Budget, { session_id, turn_id, usage }: Turn): void {
    const { limit, spent } = budget;
    const isFirst = (known: unknown, limited: number | null, without: number) =>
      limited !== null && (known ?? null) === null && without === 1;
    const missing = [
      isFirst(usage?.cost_usd, limit.cost_usd, spent.turns_without_cost) ? 'no cost' : [],
      isFirst(usage?.total_tokens ?? usage?.output_tokens, limit.tokens, spent.turns_without_tokens)
        ? 'no tokens'
        : [],
    ].flat();
    if (missing.length === 0) return;
    const message = `the agent reported ${missing.join(' and ')}: the budget of ${this.labelOf(tx, budget)} does not count unreported usage`;
    this.#deps.log.append(tx, {
      kind: 'session.notice',
      session_id,
      turn_id,
      payload: { code: 'budget_uncounted', message },
    });
  }
}

/** Returns the name of a budget in texts for people: `team "shop" for today`. `name`: of its session or team. */
function labelOf(
  { session_id, team_id, time_zone }: Pick<Budget, 'session_id' | 'team_id' | 'time_zone'>,
  name: string | null,
): string {
  const day = time_zone === null ? '' : ' for today';
  const id = session_id ?? team_id;
  if (id === null) return `all sessions${day}`;
  const what = session_id === null ? 'team' : 'session';
  return `${what} ${name === null ? id : `"${name}"`}${day}`;
}
