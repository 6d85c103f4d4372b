import type { Approval } from '../api/approvals.ts';
import type { SentPayload } from '../api/events.ts';

/**
 * Returns the approval of an `approval.requested`. What the event was too long to hold is empty: who decides has to
 * fetch the approval first.
 */
export function requestedApproval({ approval }: SentPayload<'approval.requested'>): Approval {
  return { request: null, details: [], subject: null, questions: null, answers: null, ...approval };
}
