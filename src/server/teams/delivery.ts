import type { Turn } from '../../api/sessions.ts';
import type { Delivery, Message } from '../../api/team-messages.ts';
import { AppError } from '../../api/errors.ts';

/** How each policy treats a recipient that is at a turn or was stopped. */
export const policies: Record<Message['policy'], { needsIdle: boolean; interrupts: Interruption }> =
  {
    non_interrupting: { needsIdle: false, interrupts: 'never' },
    start_new_turn_only: { needsIdle: true, interrupts: 'never' },
    interrupt_after_tool_boundary: { needsIdle: false, interrupts: 'at_tool_boundary' },
    immediate_interrupt: { needsIdle: false, interrupts: 'at_once' },
  };

type Interruption = 'never' | 'at_tool_boundary' | 'at_once';

export type Failure = NonNullable<Delivery['error']>;

export function newDelivery(
  id: string,
  { id: message_id, team_id }: Pick<Message, 'id' | 'team_id'>,
  recipient_agent_id: string,
  now: number,
): Delivery {
  return {
    id,
    message_id,
    team_id,
    recipient_agent_id,
    status: 'pending',
    attempts: 0,
    injected_turn_id: null,
    consumed_at: null,
    error: null,
    created_at: now,
    updated_at: now,
  };
}

/** Whether a delivery waits to become part of a turn. */
export function waits({ status }: Delivery): boolean {
  return status === 'pending' || status === 'deferred';
}

export function inject(delivery: Delivery, turn: Turn, now: number): Delivery {
  return {
    ...delivery,
    status: 'injecting',
    attempts: delivery.attempts + 1,
    injected_turn_id: turn.turn_id,
    error: null,
    updated_at: now,
  };
}

export function injected(delivery: Delivery, now: number): Delivery {
  return { ...delivery, status: 'injected', updated_at: now };
}

/** Returns the delivery as deferred: no agent has seen it, and it waits again. */
export function defer(delivery: Delivery, error: Failure, now: number): Delivery {
  return { ...delivery, status: 'deferred', injected_turn_id: null, error, updated_at: now };
}

/** Returns the delivery after its turn has ended: consumed if the turn completed, else with the error of the turn. */
export function afterTurn(delivery: Delivery, turn: Turn, now: number): Delivery {
  if (turn.status === 'completed') return { ...delivery, consumed_at: now, updated_at: now };
  return { ...delivery, error: errorOf(turn), updated_at: now };
}

export function fail(delivery: Delivery, error: Failure, now: number): Delivery {
  return { ...delivery, status: 'failed', injected_turn_id: null, error, updated_at: now };
}

export function cancel(delivery: Delivery, now: number): Delivery {
  return { ...delivery, status: 'cancelled', injected_turn_id: null, error: null, updated_at: now };
}

/** Returns the delivery as pending again. Throws `delivery_state` if it is under way, consumed or cancelled. */
export function retry(delivery: Delivery, now: number): Delivery {
  const { id, status, error } = delivery;
  const isLost = status === 'injected' && error !== null;
  if (status !== 'failed' && status !== 'deferred' && !isLost)
    throw new AppError(
      'delivery_state',
      `cannot retry delivery ${id}, which is ${status}: only a failed delivery, a deferred delivery, or a delivery with an incomplete turn can be retried`,
    );
  return { ...delivery, status: 'pending', injected_turn_id: null, error: null, updated_at: now };
}

export function errorOf(turn: Turn): Failure {
  const { turn_id, status, error } = turn;
  return error ?? { code: `turn_${status}`, message: `turn ${turn_id} was ${status}` };
}
