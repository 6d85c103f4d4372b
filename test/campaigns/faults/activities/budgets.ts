import type { Approval } from '../../../../src/api/approvals.ts';
import { AppError } from '../../../../src/api/errors.ts';
import { endpoints } from '../../../../src/api/index.ts';
import type { Turn } from '../../../../src/api/sessions.ts';
import type { UntypedEvent } from '../../../support/untyped-events.ts';
import type { Violations } from '../../crash/checks.ts';
import {
  openSession,
  type FinalState,
  pauseRandomly,
  sendTurn,
  type Activity,
  untilClosing,
  type ActivityContext,
} from '../activity.ts';

const LIMIT = 3;

/** A session whose budget allows three turns, and three more after each acceptance. */
export class BudgetActivity implements Activity {
  readonly name = 'budgets';
  readonly #context: ActivityContext;
  readonly #released: (() => void)[] = [];
  #session = '';
  #budget = '';
  #accepting: Promise<void> = Promise.resolve();

  constructor(context: ActivityContext) {
    this.#context = context;
    context.eventWaiter.onEvent((event) => this.#hear(event));
  }

  async run(): Promise<void> {
    const { requests, eventWaiter, random } = this.#context;
    this.#session = await openSession(this.#context, this.#context.place);
    const body = { session_id: this.#session, per: 'total' as const, turns: LIMIT };
    this.#budget = (await requests.call(endpoints.setBudget, { body })).id;
    await untilClosing(this.#context, async () => {
      const label = this.#context.newLabel();
      const released = new Promise<void>((resolve) => this.#released.push(resolve));
      const text = `${label}; usage ${random.between(100, 5000)} 200000; say spent`;
      try {
        const turn = await sendTurn(this.#context, this.#session, text, ['budget_reached']);
        await eventWaiter.endOf(turn);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'budget_reached') throw error;
        await released;
      }
      await pauseRandomly(this.#context, 200);
    });
    await this.#accepting;
  }

  async check({ client, log }: FinalState): Promise<Violations> {
    const params = { session_id: this.#session };
    const turns: Turn[] = [];
    for (let cursor: string | undefined; ;) {
      const query = { limit: 500, ...(cursor === undefined ? {} : { cursor }) };
      const page = await client.ask(endpoints.listTurns, { params, query });
      turns.push(...page.value);
      cursor = page.headers['x-next-cursor'] as string | undefined;
      if (cursor === undefined) break;
    }
    const budget = await client.call(endpoints.getBudget, { params: { budget_id: this.#budget } });
    return [
      ...checkSpent(budget.spent, turns),
      ...checkReleases(log.filter(({ session_id }) => session_id === this.#session)),
    ];
  }

  #hear({ kind, session_id, payload }: UntypedEvent): void {
    if (this.#session === '' || session_id !== this.#session) return;
    if (kind === 'budget.released') for (const resolve of this.#released.splice(0)) resolve();
    if (kind !== 'approval.requested') return;
    const { id } = payload.approval as Approval;
    const before = this.#accepting;
    this.#accepting = before.then(() => this.#accept(id));
  }

  async #accept(approval_id: string): Promise<void> {
    const call = {
      params: { session_id: this.#session, approval_id },
      body: { decision: 'accept' as const },
    };
    await this.#context.requests.call(endpoints.decideApproval, call);
    this.#context.receipts.add('approval.resolved', approval_id);
  }
}

/** Holds the usage of a budget against the turns of its session. A turn that no agent got does not count. */
export function checkSpent(
  spent: { turns: number; tokens: number },
  turns: readonly Pick<Turn, 'status' | 'usage' | 'started_at'>[],
): Violations {
  const counted = turns.filter(({ started_at }) => started_at !== null);
  const tokens = counted.reduce((sum, { usage }) => sum + (usage?.total_tokens ?? 0), 0);
  return spent.turns === counted.length && spent.tokens === tokens
    ? []
    : [
        `the budget has ${spent.turns} turns and ${spent.tokens} tokens, the turns of its session are ${counted.length} with ${tokens}`,
      ];
}

/** Between two acceptances at most as many turns start as the budget allows. */
export function checkReleases(log: readonly UntypedEvent[]): Violations {
  const wrong: Violations = [];
  let started = 0;
  for (const { seq, kind, payload } of log) {
    if (kind === 'turn.started') started++;
    if (kind === 'budget.released') started = 0;
    if (kind === 'budget.reached' && (payload.budget as { status: string }).status !== 'reached')
      wrong.push(`seq ${seq}: the budget was reached and is open`);
    if (started > LIMIT) wrong.push(`seq ${seq}: turn ${started} of ${LIMIT} has started`);
  }
  return wrong;
}
