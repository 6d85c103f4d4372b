import { emit, hasEnded, type ModelSession, type ModelState, type ModelTurn } from './state.ts';
import type { Draft } from './turns.ts';

/** Counts a turn for the budget of its session, and asks once the budget is used up. */
export function count(draft: Draft, session: ModelSession, turn: ModelTurn): void {
  const budget = draft.state.budgets.find((one) => one.session === session.id);
  if (!budget) return;
  budget.spent += 1;
  applyBudget(draft, session, turn);
}

/** Whether a turn counts for budgets: it has ended, and an agent had it. */
export function isCounted(turn: ModelTurn): boolean {
  return hasEnded(turn) && turn.limitAt !== null;
}

export function applyBudget(draft: Draft, session: ModelSession, turn: ModelTurn | null): void {
  const budget = draft.state.budgets.find((one) => one.session === session.id);
  if (!budget || budget.status !== 'open' || budget.spent < budget.allowed) return;
  budget.status = 'reached';
  const asked = turn ?? session.turns.findLast(isCounted);
  if (asked) askForBudget(draft, session, budget, asked);
  emit(draft.state, session.id, 'budget.reached');
}

function askForBudget(
  draft: Draft,
  session: ModelSession,
  budget: ModelState['budgets'][number],
  asked: ModelTurn,
): void {
  const name = `a${session.approvals.length + 1}`;
  budget.approval = name;
  session.approvals.push({
    name,
    turn: asked.name,
    subject: -1,
    status: 'pending',
    expiresAt: Infinity,
    isHeld: false,
  });
  emit(draft.state, session.id, `approval.requested ${name} ${asked.name}`);
}
