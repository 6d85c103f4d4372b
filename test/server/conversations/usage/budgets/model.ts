import { expect } from 'vitest';
import type { Session } from '../../../../../src/api/sessions.ts';
import { dayOf } from '../../../../../src/core/lib/days.ts';
import { budgetsOf, used } from '../../../../support/budgets.ts';
import { HOUR } from '../../../../support/queue/queue.ts';
import type { Harness } from '../../../../support/sessions/harness.ts';
import { makeTeam } from '../../../../support/teams/team.ts';

const ZONE = 'Europe/Berlin';

/** An action on one of three sessions, or on one of three budgets. */
interface Step {
  do: string;
  of: number;
  number: number;
}

interface Modelled {
  request: { session_id?: string; team_id?: string; time_zone?: string };
  limit: number;
  allowed: number;
  status: 'open' | 'reached' | 'declined';
  /** The day of the budget. Null if the budget is not daily. */
  day: string | null;
}

/** Computes the usage of three sessions of a team, and the state of three budgets. */
export class Model {
  readonly #harness: Harness;
  readonly #agents: readonly Session[];
  readonly #budgets: Modelled[];
  readonly #turns: { of: number; at: number; tokens: number }[] = [];
  readonly #last = new Map<number, Awaited<ReturnType<Harness['provider']['nextTurn']>>>();

  private constructor(harness: Harness, agents: readonly Session[], teamId: string) {
    this.#harness = harness;
    this.#agents = agents;
    const of = (
      request: Modelled['request'],
      limit: number,
      day: string | null = null,
    ): Modelled => ({
      request,
      limit,
      allowed: limit,
      status: 'open',
      day,
    });
    this.#budgets = [
      of({ session_id: agents[0]?.id ?? '' }, 100),
      of({ team_id: teamId }, 250),
      of({ time_zone: ZONE }, 200, dayOf(harness.clock.now(), ZONE)),
    ];
  }

  static async on(harness: Harness): Promise<Model> {
    const { team, agents } = await makeTeam(harness, 3);
    const model = new Model(harness, agents, team.id);
    for (const { request, limit } of model.#budgets)
      await budgetsOf(harness).set({ ...request, tokens: limit });
    return model;
  }

  async take({ do: what, of, number }: Step): Promise<void> {
    if (what === 'turn') return this.#turn(of, number);
    if (what === 'amend') return this.#amend(of, number);
    if (what === 'wait') return this.#wait(number);
    const budget = this.#budgets[of];
    if (!budget) return;
    if (what === 'set') return this.#set(budget, number);
    if (budget.status !== 'reached') return;
    const id = (await this.#stored(budget))?.approval_id;
    const asked = (await this.#harness.approvals()).find((one) => one.id === id);
    if (!asked) throw new Error('a budget that is used up does not ask');
    await this.#harness.decide(asked, what);
    if (what === 'accept') budget.allowed = this.#spent(budget) + budget.limit;
    budget.status = what === 'accept' ? 'open' : 'declined';
  }

  /** Compares each budget with its stored record. */
  async check(): Promise<void> {
    for (const budget of this.#budgets)
      expectAlike(await this.#stored(budget), {
        status: budget.status,
        limit: { tokens: budget.limit },
        allowed: { tokens: budget.allowed },
        spent: { tokens: this.#spent(budget) },
      });
    const asked = await this.#harness.approvals();
    expectAlike(asked.length, this.#budgets.filter(({ status }) => status === 'reached').length);
  }

  async #turn(of: number, tokens: number): Promise<void> {
    const agent = this.#agents[of];
    if (!agent) return;
    const over = this.#budgets.filter((one) => this.#isOf(one, of));
    const isHeld = over.some(({ status }) => status !== 'open');
    const { status, body } = await this.#harness.send(agent, 'go on');
    expectAlike([status, body.code], isHeld ? [409, 'budget_reached'] : [200, undefined]);
    if (isHeld) return;
    const turn = await this.#harness.provider.nextTurn();
    const ends = this.#harness.seen.filter(({ kind }) => kind === 'turn.completed').length;
    turn.end(used(tokens));
    await this.#harness.times('turn.completed', ends + 1);
    this.#last.set(of, turn);
    this.#turns.push({ of, at: this.#harness.clock.now(), tokens });
    this.#reach();
  }

  async #amend(of: number, tokens: number): Promise<void> {
    const turn = this.#turns.findLast((one) => one.of === of);
    const last = this.#last.get(of);
    if (!turn || !last) return;
    const updates = this.#harness.seen.filter(({ kind }) => kind === 'usage.updated').length;
    await last.sink.update({ type: 'usage', usage: { total_tokens: tokens } });
    await this.#harness.times('usage.updated', updates + 1);
    turn.tokens = Math.max(turn.tokens, tokens);
    this.#reach();
  }

  async #set(budget: Modelled, tokens: number): Promise<void> {
    await budgetsOf(this.#harness).set({ ...budget.request, tokens });
    Object.assign(budget, { limit: tokens, allowed: tokens, status: 'open' });
    this.#reach();
  }

  async #wait(hours: number): Promise<void> {
    const { clock } = this.#harness;
    clock.advance(hours * HOUR);
    const today = dayOf(clock.now(), ZONE);
    const budget = this.#budgets.find(({ day }) => day !== null && day !== today);
    if (!budget) return;
    const wasOpen = budget.status === 'open';
    Object.assign(budget, { day: today, allowed: budget.limit, status: 'open' });
    // A budget that is not used up starts its day with the next turn, or when it is set.
    if (wasOpen) await this.#set(budget, budget.limit);
    else
      await this.#harness.until(
        ({ kind, payload }) =>
          kind === 'budget.released' &&
          payload.why === 'day' &&
          dayOf((payload.budget as { day_begins_at: number }).day_begins_at, ZONE) === today,
      );
  }

  #reach(): void {
    for (const budget of this.#budgets)
      if (budget.status === 'open' && this.#spent(budget) >= budget.allowed)
        budget.status = 'reached';
  }

  #isOf({ request }: Modelled, of: number): boolean {
    return request.session_id === undefined || request.session_id === this.#agents[of]?.id;
  }

  #spent(budget: Modelled): number {
    return this.#turns
      .filter(
        ({ of, at }) => this.#isOf(budget, of) && [null, dayOf(at, ZONE)].includes(budget.day),
      )
      .reduce((sum, { tokens }) => sum + tokens, 0);
  }

  async #stored({ request }: Modelled) {
    const all = await budgetsOf(this.#harness).list();
    return all.find(
      (one) =>
        one.session_id === (request.session_id ?? null) &&
        one.team_id === (request.team_id ?? null),
    );
  }
}

/** Expects that the stored fields equal the expected ones. */
function expectAlike(found: unknown, wanted: object | number): void {
  expect({ found }).toMatchObject({ found: wanted });
}
