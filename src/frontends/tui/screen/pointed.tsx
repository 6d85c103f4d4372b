import { Box, type BoxProps, type DOMElement } from 'ink';
import { type ReactNode, useContext, useRef } from 'react';
import { Listeners, useListener } from '../keyboard.ts';
import { type Line, layout } from '../list/layout.ts';
import { List, rowHeightOf } from '../list/list.tsx';
import { type Pointed, WHEEL_LINES } from '../read-pointer.ts';
import type { ScreenState } from './screen-state.ts';

/** A box that gets what a mouse does over it. */
export function PointerBox({
  onPointer,
  ...rest
}: BoxProps & { onPointer: (pointed: Pointed) => void; children: ReactNode }): ReactNode {
  const element = useRef<DOMElement>(null);
  const region = { element: () => element.current, handle: onPointer };
  useListener(useContext(Listeners).regions, region);
  return <Box ref={element} {...rest} />;
}

interface PointedListProps {
  shown: ScreenState;
  columns: number;
  height: number;
}

/** The list: a click selects a row, and folds or unfolds a section; the wheel moves the selection. */
export function PointedList(props: PointedListProps): ReactNode {
  const { view, marks, mode } = props.shown;
  return (
    <PointerBox flexShrink={0} onPointer={(pointed) => inList(props, pointed)}>
      <List
        view={view}
        marked={marks.ids}
        isActive={mode.name === 'list' || mode.name === 'filter'}
        columns={props.columns}
        height={props.height}
      />
    </PointerBox>
  );
}

function inList(props: PointedListProps, { what, y }: Pointed): void {
  const { mode, setMode, context } = props.shown;
  const { listState } = context;
  // A question, or a text that is being written, keeps what it is about.
  if (mode.name !== 'list' && mode.name !== 'pane') return;
  if (what !== 'click') return listState.step(what === 'up' ? -1 : 1);
  const line = lineAt(props, y);
  if (!line) return;
  if (mode.name === 'pane') setMode({ name: 'list' });
  if ('heading' in line) listState.fold(line.heading.name, !line.heading.isFolded);
  else listState.select(line.thing.id);
}

function lineAt(
  { shown: { view }, columns, height }: PointedListProps,
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
export function inPane({ pane, mode, setMode, attempt }: ScreenState, { what }: Pointed): void {
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
