import type { ApprovalInEvents } from '../../../api/event-kinds/items.ts';
import type { Approval, ApprovalScope } from '../../../api/approvals.ts';
import { AppError, invalidError } from '../../../api/errors.ts';
import type { AgentAnswer } from '../../../agents/provider.ts';

/** The end of a pending approval: a person's decision, its timeout or its cancellation. */
export type Resolution =
  | {
      status: 'accepted' | 'declined';
      /** Absent where it was declined. */
      scope?: ApprovalScope | undefined;
      decidedBy: string;
      reason: string | null;
      answers: Record<string, string[]> | null;
    }
  | { status: 'expired' | 'cancelled'; reason: string | null };

/** Returns the resolved approval. The first answer wins: throws `approval_resolved` for any later one. */
export function resolveApproval(approval: Approval, resolution: Resolution, now: number): Approval {
  if (approval.status !== 'pending') {
    throw new AppError(
      'approval_resolved',
      `approval ${approval.id} is already ${approval.status}: only the first answer counts`,
    );
  }
  const { status, reason } = resolution;
  return {
    ...approval,
    status,
    decision: status === 'accepted' ? 'accept' : status === 'cancelled' ? null : 'decline',
    scope: status === 'accepted' ? (resolution.scope ?? 'once') : null,
    decided_by: 'decidedBy' in resolution ? resolution.decidedBy : null,
    reason,
    answers: 'answers' in resolution ? resolution.answers : null,
    resolved_at: now,
  };
}

export function decisionOf(word: string): 'accepted' | 'declined' {
  return word.startsWith('accept') ? 'accepted' : 'declined';
}

/** Throws `invalid` if the agent does not offer that an approval is accepted for the scope. */
export function assertOffered({ scopes }: Approval, scope: ApprovalScope): void {
  if (scopes.includes(scope)) return;
  const [only] = scopes;
  const way = only === undefined ? 'decline it' : `accept it with scope "${only}", or decline it`;
  throw invalidError(
    `body.scope: the agent does not offer scope "${scope}" for this approval: ${way}`,
  );
}

/** Returns the approval for events after `approval.requested`, without the fields that may be large. */
export function approvalInEvents(approval: Approval): ApprovalInEvents {
  const { request: _request, subject: _subject, details: _details, ...rest } = approval;
  return rest;
}

export function answerOf(approval: Approval): AgentAnswer {
  const { status, answers, reason, scope } = approval;
  if (status === 'accepted') return { decision: 'accept', scope: scope ?? 'once', answers };
  if (status === 'cancelled') return { decision: 'cancelled' };
  return {
    decision: 'decline',
    reason: reason ?? (status === 'expired' ? 'nobody answered in time' : null),
  };
}

/**
 * Returns the prompt for an agent that resumes a turn whose approvals were accepted while it had no agent. The approved
 * requests are in the prompt because no provider can answer a request of a process that has died.
 */
export function continuationPrompt(accepted: readonly Approval[]): string {
  const requests = accepted.map(
    ({ title, request, answers }) =>
      `${title}\n${JSON.stringify(request)}${answers ? `\nanswers: ${JSON.stringify(answers)}` : ''}`,
  );
  return ['The request below was approved while you were not running. Continue.', ...requests].join(
    '\n\n',
  );
}

export const unanswered = {
  answers: null,
  held: false,
  status: 'pending',
  decision: null,
  scope: null,
  decided_by: null,
  reason: null,
} as const;
