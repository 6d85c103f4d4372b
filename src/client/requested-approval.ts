import type { Approval } from '../api/approvals.ts';
import type { SentPayload } from '../api/events.ts';

/**
 * Returns the approval of an `approval.requested`. Fields that were too long for the event are empty, so read the
 * approval before a decision.
 */
export function requestedApproval({ approval }: SentPayload<'approval.requested'>): Approval {
  return { request: null, details: [], subject: null, questions: null, answers: null, ...approval };
}
