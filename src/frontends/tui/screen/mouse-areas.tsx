import { Box, type BoxProps, type DOMElement } from 'ink';
import { type ReactNode, useContext, useRef } from 'react';
import { Listeners, useListener } from '../keyboard.ts';
import { type Line, layout } from '../list/layout.ts';
import { List, rowHeightOf } from '../list/list.tsx';
import { type MouseAction, WHEEL_LINES } from '../mouse-actions.ts';
import type { ScreenState } from './screen-state.ts';

/** A box that gets what a mouse does over it. */
export function MouseBox({
  onMouseAction,
  ...rest
}: BoxProps & {
  onMouseAction: (mouseAction: MouseAction) => void;
  children: ReactNode;
}): ReactNode {
  const element = useRef<DOMElement>(null);
  const region = { element: () => element.current, handle: onMouseAction };
  useListener(useContext(Listeners).regions, region);
  return <Box ref={element} {...rest} />;
}

interface ClickableListProps {
  shown: ScreenState;
  columns: number;
  height: number;
}

/** The list: a click selects a row, and folds or unfolds a section; the wheel moves the selection. */
export function ClickableList(props: ClickableListProps): ReactNode {
  const { view, marks, mode } = props.shown;
  return (
    <MouseBox flexShrink={0} onMouseAction={(mouseAction) => inList(props, mouseAction)}>
      <List
        view={view}
        marked={marks.ids}
        isActive={mode.name === 'list' || mode.name === 'filter'}
        columns={props.columns}
        height={props.height}
      />
    </MouseBox>
  );
}

function inList(props: ClickableListProps, { what, y }: MouseAction): void {
  const { mode, setMode, context } = props.shown;
  const { listState } = context;
  // A question, or a text that is being written, keeps what it is about.
  if (mode.name !== 'list' && mode.name !== 'pane') return;
  if (what !== 'click') return listState.step(what === 'up' ? -1 : 1);
  const line = lineAt(props, y);
  if (!line) return;
  if (mode.name === 'pane') setMode({ name: 'list' });
  if ('heading' in line) listState.fold(line.heading.name, !line.heading.isFolded);
  else listState.select(line.item.id);
}

function lineAt(
  { shown: { view }, columns, height }: ClickableListProps,
  y: number,
): Line | undefined {
  const rowHeight = rowHeightOf(columns, height);
  let end = 0;
  return layout(view.sections, view.chosen?.id, height, rowHeight).find((line) => {
    end += 'heading' in line ? 1 : rowHeight;
    return y < end;
  });
}

/** Over the pane, the wheel scrolls it, and a click gives it the keys. */
export function inPane({ pane, mode, setMode, attempt }: ScreenState, { what }: MouseAction): void {
  if (!pane) return;
  if (what === 'click') {
    if (mode.name === 'list') setMode({ name: 'pane' });
    return;
  }
  const { reader } = pane.model;
  reader.scroll(what === 'up' ? -WHEEL_LINES : WHEEL_LINES);
  if (what === 'down' || !reader.isAtStart()) return;
  attempt(pane.model.older());
}
