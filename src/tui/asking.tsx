import type { ReactNode } from 'react';
import type { Approval } from '../api/approvals.ts';
import { oneLine } from '../client/telling.ts';
import type { Desk } from './desk.ts';
import type { Resolved } from './overview.ts';
import { Prompt } from './prompt.tsx';

/** An answer that a person is about to give. */
export interface Asking {
  approval: Approval;
  decision: 'accept' | 'decline';
}

/** Asks for the reason, and so makes sure: no single key answers an approval. */
export function AnswerPrompt({
  asking: { approval, decision },
  desk,
  attempt,
  onDone,
}: {
  asking: Asking;
  desk: Desk;
  attempt: (doing: Promise<unknown>) => void;
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

/** What keeps an approval from being answered here; null: nothing. */
export function obstacle({ approval, decision }: Asking): string | null {
  return approval.kind === 'question' && decision === 'accept'
    ? 'a question takes answers: give them over HTTP, or decline it here with a reason'
    : null;
}

/** What became of an approval, whoever answered it. */
export function describeResolved({ title, status, decided_by, reason }: Resolved): string {
  const by = decided_by === null ? '' : ` by ${decided_by}`;
  return `"${oneLine(title)}" was ${status}${by}${reason === null ? '' : `: ${oneLine(reason)}`}`;
}
