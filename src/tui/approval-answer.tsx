import type { ReactNode } from 'react';
import type { Approval } from '../api/approvals.ts';
import { oneLine } from '../client/telling.ts';
import type { Desk } from './desk.ts';
import type { Resolved } from './overview.ts';
import { Prompt } from './prompt.tsx';

/** An answer that is given once its prompt is confirmed. */
export interface ApprovalAnswer {
  approval: Approval;
  decision: 'accept' | 'decline';
}

/** Asks for a reason, which also confirms the answer: no single key answers an approval. */
export function AnswerPrompt({
  answer: { approval, decision },
  desk,
  attempt,
  onDone,
}: {
  answer: ApprovalAnswer;
  desk: Desk;
  attempt: (work: Promise<unknown>) => void;
  onDone: () => void;
}): ReactNode {
  return (
    <Prompt
      question={`${decision} "${oneLine(approval.title).slice(0, 30)}"? Enter, or why:`}
      onCancel={onDone}
      onAnswer={(reason) => {
        attempt(desk.decide(approval, { decision, reason: reason === '' ? null : reason }));
        onDone();
      }}
    />
  );
}

/** Why the screen cannot give this answer; null where it can. */
export function obstacle({ approval, decision }: ApprovalAnswer): string | null {
  return approval.kind === 'question' && decision === 'accept'
    ? 'a question takes answers: give them over HTTP, or decline it here with a reason'
    : null;
}

/** How an approval was resolved, and by whom. */
export function describeResolved({ title, status, decided_by, reason }: Resolved): string {
  const by = decided_by === null ? '' : ` by ${decided_by}`;
  return `"${oneLine(title)}" was ${status}${by}${reason === null ? '' : `: ${oneLine(reason)}`}`;
}
