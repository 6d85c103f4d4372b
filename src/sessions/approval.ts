import type { Approval } from '../api/approvals.ts';
import { AppError } from '../errors.ts';
import type { AgentAnswer } from '../providers/provider.ts';

/** How a pending approval ends. */
export type Resolution =
  | {
      status: 'accepted' | 'declined';
      decidedBy: string;
      reason: string | null;
      answers: Record<string, string[]> | null;
    }
  | { status: 'expired' | 'cancelled'; reason: string | null };

/** The approval once it is resolved. The first answer wins: throws `approval_resolved` for any later one. */
export function resolveApproval(approval: Approval, resolution: Resolution, now: number): Approval {
  if (approval.status !== 'pending') {
    throw new AppError(
      'approval_resolved',
      `approval ${approval.id} is ${approval.status} already: the first answer holds`,
    );
  }
  const { status, reason } = resolution;
  return {
    ...approval,
    status,
    decision: status === 'accepted' ? 'accept' : status === 'cancelled' ? null : 'decline',
    decided_by: 'decidedBy' in resolution ? resolution.decidedBy : null,
    reason,
    answers: 'answers' in resolution ? resolution.answers : null,
    resolved_at: now,
  };
}

/** The interface's six words for two decisions. */
export function decisionOf(word: string): 'accepted' | 'declined' {
  return word.startsWith('accept') ? 'accepted' : 'declined';
}

/** The approval as events carry it once it was asked: without what was asked, which may be large. */
export function approvalInEvents(approval: Approval): Omit<Approval, 'request' | 'subject'> {
  const { request: _request, subject: _subject, ...rest } = approval;
  return rest;
}

/** The answer to the agent that asked. */
export function answerOf(approval: Approval): AgentAnswer {
  const { status, answers, reason } = approval;
  if (status === 'accepted') return { decision: 'accept', answers };
  if (status === 'cancelled') return { decision: 'cancelled' };
  return {
    decision: 'decline',
    reason: reason ?? (status === 'expired' ? 'nobody answered in time' : null),
  };
}

/**
 * The prompt of an agent that resumes a turn whose approvals were accepted while it was gone: no provider can answer a
 * request of a process that has died.
 */
export function continuationPrompt(accepted: readonly Approval[]): string {
  const requests = accepted.map(
    ({ title, request, answers }) =>
      `${title}\n${JSON.stringify(request)}${answers ? `\nanswers: ${JSON.stringify(answers)}` : ''}`,
  );
  return ['The request below was approved while you were away; go on.', ...requests].join('\n\n');
}
