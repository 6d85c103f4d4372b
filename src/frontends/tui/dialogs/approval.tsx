import { type ReactNode, useContext, useState } from 'react';
import type { Approval, ApprovalScope } from '../../../api/approvals.ts';
import { endpoints } from '../../../api/index.ts';
import { CONFIRMATION, needsConfirmation } from '../../../core/lib/arguments-missing.ts';
import { approvalText } from '../../terminal/approval-text.ts';
import type { Decision } from '../user-actions.ts';
import { Bar } from '../bar.tsx';
import { useKeys } from '../keyboard.ts';
import { Prompt } from '../prompt.tsx';
import { useRead } from '../react-hooks.ts';
import type { DialogProps } from '../screen/screen-context.ts';
import { Colors, StyledText } from '../styled-text.tsx';
import { Frame, Lines, useScroll } from './dialog.tsx';
import { QuestionDialog } from './question.tsx';
import { counted } from '../../../core/lib/counted.ts';

/** A pending approval. A dialog that was opened to decline first asks for the reason. */
export interface Asked {
  approval: Approval;
  intent: 'accept' | 'decline';
}

interface ApprovalDialogProps extends DialogProps {
  asked: Asked;
}

/** All that an approval would allow, and the answer to it. Nothing is accepted before its end was shown. */
export function ApprovalDialog(props: ApprovalDialogProps): ReactNode {
  const { asked, context, notices, onLeave } = props;
  const { actions, client } = context;
  const { id: approval_id, session_id } = asked.approval;
  // An event may have a shortened request.
  const whole = useRead(notices, [], () =>
    client.call(endpoints.getApproval, { params: { session_id, approval_id } }),
  );
  const decide = (body: Decision) => {
    notices.attempt(actions.decide(asked.approval, body));
    onLeave();
  };
  const approval = whole ?? asked.approval;
  const shown = { ...props, approval, decide };
  return approval.kind === 'question' && approval.questions && asked.intent === 'accept' ? (
    <QuestionDialog {...shown} questions={approval.questions} />
  ) : (
    <PermissionDialog {...shown} isWhole={whole !== null} />
  );
}

interface PermissionProps extends ApprovalDialogProps {
  approval: Approval;
  /** Whether all of it was read from the server: until then nothing can be accepted. */
  isWhole: boolean;
  decide: (body: Decision) => void;
}

function PermissionDialog(props: PermissionProps): ReactNode {
  const { approval, asked, rows, columns, isWhole, notices, decide, onLeave } = props;
  const palette = useContext(Colors);
  const [asks, setAsks] = useState<'nothing' | 'reason' | 'why not' | ApprovalScope>(
    asked.intent === 'decline' ? 'why not' : 'nothing',
  );
  const [reason, setReason] = useState<string | null>(null);
  const lines = approvalText(approval, { columns, palette });
  const height = rows - 1;
  const { top, unread, keys } = useScroll(lines.length, height, isWhole);
  const left = isWhole ? unread : 'unknown';
  const accept = (scope: 'once' | 'session') => () => {
    const why = refusalOf(approval, scope, left);
    if (why !== null) notices.showNotice(why);
    else if (needsConfirmation(approval)) setAsks(scope);
    else decide({ decision: 'accept', scope, reason });
  };
  useKeys(
    {
      ...keys,
      return: accept('once'),
      y: accept('once'),
      a: accept('once'),
      s: accept('session'),
      r: () => setAsks('reason'),
      d: () => setAsks('why not'),
      n: () => setAsks('why not'),
      v: keys.g,
      escape: onLeave,
      l: onLeave,
      q: onLeave,
    },
    asks === 'nothing',
    // A notice about the unread part is out of date after the next key.
    () => notices.showNotice(''),
  );
  const footer =
    asks === 'nothing' ? (
      <Bar
        left={
          <StyledText tone="asks">
            {notices.notice || `${offersOf(approval, left)}  d decline`}
          </StyledText>
        }
        right={columns < 60 ? 'esc' : 'r reason  esc back'}
      />
    ) : (
      <Prompt
        columns={columns}
        question={prompts[asks]}
        onCancel={asked.intent === 'decline' ? onLeave : () => setAsks('nothing')}
        onAnswer={(text) => {
          if (asks === 'once' || asks === 'session') {
            if (text.trim() === CONFIRMATION)
              return decide({ decision: 'accept', scope: asks, reason });
            return setAsks('nothing');
          }
          const typed = text === '' ? null : text;
          if (asks === 'why not') return decide({ decision: 'decline', reason: typed });
          setReason(typed);
          setAsks('nothing');
        }}
      />
    );
  return (
    <Frame rows={rows} footer={footer}>
      <Lines lines={lines} top={top} height={height} />
    </Frame>
  );
}

const CONFIRM = `Type ${CONFIRMATION} to approve (the request is incomplete):`;
const prompts = {
  reason: 'Reason:',
  'why not': 'Reason (optional, ⏎ declines):',
  once: CONFIRM,
  session: CONFIRM,
};

/** How many lines were never shown; unknown until all of them were read from the server. */
type Left = number | 'unknown';

/** Why the screen cannot accept an approval; null where it can. */
function refusalOf(
  { kind, scopes }: Approval,
  scope: 'once' | 'session',
  left: Left,
): string | null {
  if (kind === 'question') return 'the agent does not list its questions: you can only decline';
  if (!scopes.includes(scope))
    return scope === 'session'
      ? 'the agent does not offer approval for the session'
      : 'the agent does not offer approval: you can only decline';
  if (left === 'unknown') return 'cannot approve yet: the request is loading';
  if (left > 0) return `cannot approve yet: ${counted(left, 'more line')} below`;
  return null;
}

function offersOf({ scopes }: Approval, left: Left): string {
  if (left === 'unknown') return 'loading the request';
  if (left > 0) return `space ${counted(left, 'more line')}`;
  return scopes.includes('session') ? '⏎ approve  s for session' : '⏎ approve';
}
