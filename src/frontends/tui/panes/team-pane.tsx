import type { ReactNode } from 'react';
import { useSource } from '../react-hooks.ts';
import { ReaderPane } from './pane.tsx';
import type { PaneProps } from './pane-props.ts';
import type { TeamModel } from './team-model.ts';

/** The members of a team, and below them its messages. */
export function TeamPane(props: PaneProps<TeamModel>): ReactNode {
  const { model, rows, columns, palette } = props;
  useSource(model.reader.changes);
  const members = model.memberLines({ columns, palette });
  // The messages keep at least half of the pane.
  const room = Math.max(1, Math.floor(rows / 2) - 1);
  const left = members.length - room;
  const header =
    left > 0
      ? [...members.slice(0, room - 1), palette.faint(`and ${left + 1} more members`)]
      : members;
  return (
    <ReaderPane
      {...props}
      header={members.length === 0 ? [] : [...header, palette.faint('─'.repeat(columns))]}
      empty="No messages yet"
      status={model.coverage()}
    />
  );
}
