import type { ReactNode } from 'react';
import { useState } from 'react';
import { useSource } from '../react-hooks.ts';
import type { ConversationModel } from './conversation-model.ts';
import { Outline } from './outline.tsx';
import { ReaderPane } from './pane.tsx';
import type { PaneProps } from './pane-props.ts';

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
