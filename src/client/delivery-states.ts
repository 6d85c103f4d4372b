import type { Delivery } from '../api/team-messages.ts';

/** How many deliveries are in each state: `2 consumed, 1 pending`. */
export function deliveryStates(deliveries: readonly Delivery[]): string {
  const states = Map.groupBy(deliveries, (one) =>
    one.consumed_at === null ? one.status : 'consumed',
  );
  return [...states].map(([state, ones]) => `${ones.length} ${state}`).join(', ');
}
