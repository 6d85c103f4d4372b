import type { ReactNode } from 'react';
import { AnswerPrompt, type ApprovalAnswer } from './approval-answer.tsx';
import { Bar } from './bar.tsx';
import { Confirm } from './confirm.tsx';
import type { Desk } from './desk.ts';
import type { Connection } from './follow.ts';
import { Notice } from './notice.tsx';
import { Tint } from './tint.tsx';
import type { Choice } from './top-lines.ts';

/** What the page shows: the lines, or a layer over them. */
export type Layer =
  | { name: 'lines' | 'help' }
  | { name: 'answer'; answer: ApprovalAnswer }
  | { name: 'confirm'; question: string; work: () => Promise<void> };

export interface TopFootProps {
  layer: Layer;
  chosen: Choice | undefined;
  connection: Connection;
  desk: Desk;
  notice: string;
  attempt: (work: Promise<unknown>) => void;
  onBack: () => void;
}

/** The last line: the prompt of the layer, else a notice or the keys for the chosen line. */
export function TopFoot(props: TopFootProps): ReactNode {
  const { layer, chosen, connection, desk, notice, attempt, onBack } = props;
  switch (layer.name) {
    case 'answer':
      return <AnswerPrompt answer={layer.answer} desk={desk} attempt={attempt} onDone={onBack} />;
    case 'confirm':
      return (
        <Confirm
          question={layer.question}
          onAnswer={(yes) => {
            onBack();
            if (yes) attempt(layer.work());
          }}
        />
      );
    default:
      return (
        <Bar
          left={<Notice notice={notice} connection={connection} hint={hintOf(chosen)} />}
          right={<Tint tone="faint">{layer.name === 'help' ? 'esc back' : '? help  q quit'}</Tint>}
        />
      );
  }
}

function hintOf(chosen: Choice | undefined): string {
  if (!chosen) return '';
  if ('approval' in chosen) return 'a accept  d decline  enter its session';
  if ('process' in chosen) return 'enter its events  x end it';
  const { active_turn_id } = chosen.now.session;
  return active_turn_id === null ? 'enter its events' : 'enter its events  i interrupt';
}
