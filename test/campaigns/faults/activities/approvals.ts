import type { Approval } from '../../../../src/api/approvals.ts';
import { isUnreachable } from '../../../../src/api/errors.ts';
import { endpoints } from '../../../../src/api/index.ts';
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

/** Requests of agents, each with two decisions at the same time, of which one wins. */
export class ApprovalActivity implements Activity {
  readonly name = 'approvals';
  readonly #context: ActivityContext;
  readonly #sessions = new Set<string>();
  readonly #answering = new Set<Promise<void>>();
  /** The acknowledged decisions, by approval. */
  readonly #decisions = new Map<string, ('accept' | 'decline')[]>();

  constructor(context: ActivityContext) {
    this.#context = context;
    context.eventWaiter.onEvent((event) => this.#answer(event));
  }

  async run(): Promise<void> {
    const session = await openSession(this.#context, this.#context.place);
    this.#sessions.add(session);
    await untilClosing(this.#context, async () => {
      const label = this.#context.newLabel();
      const prompt = `${label}; say before; ask run: true ${label}; say after`;
      const turn = await sendTurn(this.#context, session, prompt);
      await this.#context.eventWaiter.endOf(turn);
      await pauseRandomly(this.#context, 200);
    });
    await Promise.all(this.#answering);
  }

  async check({ client, log }: FinalState): Promise<Violations> {
    const wrong: Violations = [];
    const own = log.filter(({ session_id }) => this.#sessions.has(session_id ?? ''));
    const resolved = countById(own, 'approval.resolved');
    for (const [id, count] of countById(own, 'approval.requested')) {
      if (count.length !== 1) wrong.push(`approval ${id} was requested ${count.length} times`);
      const ends = resolved.get(id) ?? [];
      if (ends.length !== 1) wrong.push(`approval ${id} was resolved ${ends.length} times`);
      const [session = ''] = this.#sessions;
      const params = { session_id: session, approval_id: id };
      const approval = await client.call(endpoints.getApproval, { params });
      wrong.push(...checkDecision(approval, this.#decisions.get(id) ?? []));
    }
    wrong.push(...checkOutput(own));
    return wrong;
  }

  #answer({ kind, session_id, payload }: UntypedEvent): void {
    if (kind !== 'approval.requested' || !this.#sessions.has(session_id ?? '')) return;
    const { id } = payload.approval as Approval;
    const { random } = this.#context;
    const first = random.chance(0.5) ? 'accept' : 'decline';
    const second = random.chance(0.5) ? 'accept' : 'decline';
    for (const decision of random.chance(0.7) ? [first, second] : [first]) {
      const work = this.#decide(session_id ?? '', id, decision as 'accept' | 'decline');
      this.#answering.add(work);
      void work.finally(() => this.#answering.delete(work));
    }
  }

  async #decide(
    session_id: string,
    approval_id: string,
    decision: 'accept' | 'decline',
  ): Promise<void> {
    const call = { params: { session_id, approval_id }, body: { decision } };
    try {
      await this.#context.requests.call(endpoints.decideApproval, call, ['approval_resolved']);
    } catch (error) {
      if (isUnreachable(error)) throw error;
      return;
    }
    this.#context.receipts.add('approval.resolved', approval_id);
    const all = this.#decisions.get(approval_id) ?? [];
    this.#decisions.set(approval_id, [...all, decision]);
  }
}

/** Holds the record of an approval against the acknowledged decisions, of which there may be one. */
export function checkDecision(
  { id, status, decision }: Pick<Approval, 'id' | 'status' | 'decision'>,
  acknowledged: readonly string[],
): Violations {
  if (acknowledged.length > 1) return [`approval ${id} was answered ${acknowledged.join(' and ')}`];
  const [answer] = acknowledged;
  if (answer === undefined)
    return status === 'cancelled'
      ? []
      : [`approval ${id} is ${status}, and nobody has answered it`];
  const wanted = answer === 'accept' ? 'accepted' : 'declined';
  return status === wanted && decision === answer
    ? []
    : [`approval ${id} was ${wanted}, and is ${status}`];
}

/** A completed turn has done what was decided: its last request decides. */
function checkOutput(log: readonly UntypedEvent[]): Violations {
  const decided = new Map<string, Set<string>>();
  for (const { kind, turn_id, payload } of log) {
    if (kind !== 'approval.resolved' || turn_id === null) continue;
    const { decision } = payload.approval as Approval;
    const all = decided.get(turn_id) ?? new Set();
    decided.set(turn_id, all.add(decision === 'accept' ? 'allowed' : 'rejected'));
  }
  return log.flatMap(({ kind, turn_id, payload }) => {
    if (kind !== 'message.completed' || typeof payload.text !== 'string') return [];
    const said = /^(allowed|rejected) /.exec(payload.text)?.[1];
    return said === undefined || decided.get(turn_id ?? '')?.has(said)
      ? []
      : [`${turn_id}: the agent was ${said}, which nobody has decided`];
  });
}

function countById(log: readonly UntypedEvent[], wanted: string): Map<string, UntypedEvent[]> {
  return Map.groupBy(
    log.filter(
      ({ kind, payload }) => kind === wanted && (payload.approval as Approval).kind !== 'budget',
    ),
    ({ payload }) => (payload.approval as Approval).id,
  );
}
