import { type ReactNode, useState } from 'react';
import type { Palette } from '../../terminal/palette.ts';
import { padded, truncated } from '../../terminal/width.ts';
import { useChoice } from '../dialogs/choice.tsx';
import { Lines } from '../dialogs/lines.tsx';
import { useKeys } from '../keyboard.ts';
import { useSource } from '../react-hooks.ts';
import type { ConversationModel } from './conversation-model.ts';
import type { LogModel } from './log-model.ts';
import type { PaneProps } from './pane-model.ts';
import { ReaderPane } from './pane.tsx';
import type { TeamModel } from './team-model.ts';

/** The conversation of a session, as it grows. */
export function ConversationPane(props: PaneProps<ConversationModel>): ReactNode {
  const { model, rows, columns, isFocused, palette } = props;
  const folded = useSource(model.folded);
  const [hasOutline, setOutline] = useState(false);
  const step = (direction: 1 | -1) => () => {
    const at = model.promptFrom(direction);
    if (at !== null) model.reader.toBlock(at);
    else if (direction > 0) model.reader.toEnd();
  };
  const keys = {
    t: () => model.fold(),
    '[': step(-1),
    ']': step(1),
    o: () => setOutline(true),
  };
  const choose = (at: number | null) => {
    setOutline(false);
    if (at !== null) model.reader.toBlock(at);
  };
  const outline = hasOutline && isFocused && (
    <Outline
      rows={Math.max(1, rows - 1)}
      columns={columns}
      palette={palette}
      prompts={model.prompts()}
      top={model.reader.top().at}
      onChoose={choose}
    />
  );
  return (
    <ReaderPane
      {...props}
      keys={keys}
      empty="No messages yet"
      status={folded ? 't expand tools  o prompts' : 't collapse tools  o prompts'}
      overlay={outline === false ? null : outline}
    />
  );
}

/** The output of a process, as it prints it. */
export function LogPane(props: PaneProps<LogModel>): ReactNode {
  const { model } = props;
  const shown = useSource(model.shown);
  const ended = useSource(model.ended);
  const what = shown === 'both' ? 'stdout and stderr' : shown;
  return (
    <ReaderPane
      {...props}
      keys={{ o: () => model.switch() }}
      empty={ended ? 'No output' : 'No output yet'}
      status={`${what}${ended ? ', exited' : ''}  o switch`}
    />
  );
}

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

interface OutlineProps {
  rows: number;
  columns: number;
  palette: Palette;
  prompts: readonly { at: number; text: string }[];
  /** The block that the reader is at. */
  top: number;
  /** Called with the block of the chosen prompt; with null where none was chosen. */
  onChoose: (at: number | null) => void;
}

/** My prompts as a list, to jump to one. */
function Outline({ rows, columns, palette, prompts, top, onChoose }: OutlineProps): ReactNode {
  const here = Math.max(
    0,
    prompts.findLastIndex(({ at }) => at <= top),
  );
  const { at: chosen, first, keys } = useChoice(prompts.length, rows, here);
  const close = () => onChoose(null);
  const choose = () => onChoose(prompts[chosen]?.at ?? null);
  useKeys({ ...keys, return: choose, escape: close, q: close, o: close });
  if (prompts.length === 0) return <Lines lines={[palette.faint('No prompts loaded')]} />;
  const lines = prompts.slice(first, first + rows).map(({ text }, index) => {
    const isChosen = first + index === chosen;
    const line = `${isChosen ? '>' : ' '} ${text}`;
    return isChosen ? palette.found(padded(line, columns)) : truncated(line, columns);
  });
  return <Lines lines={lines} />;
}
