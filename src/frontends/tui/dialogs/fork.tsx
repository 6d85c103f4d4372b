import type { ReactNode } from 'react';
import { endpoints } from '../../../api/index.ts';
import type { Session, Turn } from '../../../api/sessions.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { ago } from '../../terminal/time.ts';
import { useKeys } from '../keyboard.ts';
import { useRead } from '../react-hooks.ts';
import type { DialogProps } from '../screen/screen-context.ts';
import { StyledText } from '../styled-text.tsx';
import { ChoiceLine, Frame, useChoice } from './dialog.tsx';

interface ForkDialogProps extends DialogProps {
  session: Session;
  onFork: (turnId: string) => void;
}

const LIMIT = 500;

/** The completed turns of a session, newest first, to fork the session after one of them. */
export function ForkDialog(props: ForkDialogProps): ReactNode {
  const { session, context, notices, rows, onFork, onLeave } = props;
  const { client, clock } = context;
  const found = useRead(notices, [client, session.id], async () => {
    const call = { params: { session_id: session.id }, query: { limit: LIMIT } };
    const turns = await client.call(endpoints.listTurns, call);
    return turns.filter(({ status }) => status === 'completed');
  });
  const turns = found ?? [];
  const height = Math.max(1, rows - 1);
  const { at, first, keys } = useChoice(turns.length, height);
  const choose = () => {
    const turn = turns[at];
    if (turn) onFork(turn.turn_id);
  };
  useKeys({ ...keys, return: choose, escape: onLeave, q: onLeave });
  const none = found === null ? 'Loading turns …' : 'No completed turn to fork after  esc back';
  const footer =
    turns.length === 0 ? none : '↑ ↓ select the last turn of the fork  ⏎ fork  esc back';
  const now = clock.now();
  return (
    <Frame rows={rows} footer={footer}>
      {turns.slice(first, first + height).map((turn, i) => (
        <ChoiceLine key={turn.turn_id} isChosen={first + i === at} detail={`  ${answerOf(turn)}`}>
          <StyledText tone="faint">{`${ago(now - turn.accepted_at).padEnd(4)} `}</StyledText>
          {promptOf(turn)}
        </ChoiceLine>
      ))}
    </Frame>
  );
}

function promptOf({ input }: Turn): string {
  const text = input.findLast(({ type }) => type === 'text');
  return text?.type === 'text' ? oneLine(text.text.slice(0, 300)) : '(an image)';
}

function answerOf({ text }: Turn): string {
  return oneLine((text ?? '').slice(0, 300));
}
