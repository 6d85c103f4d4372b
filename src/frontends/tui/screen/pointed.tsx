import type { ReactNode } from 'react';
import { type Line, layout } from '../list/layout.ts';
import type { ListView } from '../list/list-state.ts';
import { List, rowHeightOf } from '../list/list.tsx';
import { PointerBox } from '../pointer.tsx';
import { type Pointed, WHEEL_LINES } from '../read-pointer.ts';
import type { ScreenState } from './screen-state.ts';

interface PointedListProps {
  shown: ScreenState;
  view: ListView;
  marked: ReadonlySet<string>;
  isActive: boolean;
  columns: number;
  height: number;
}

/** The list, whose rows can be clicked: a click selects a row, and folds or unfolds a section; the wheel moves the place. */
export function PointedList({ shown, ...listed }: PointedListProps): ReactNode {
  return (
    <PointerBox flexShrink={0} onPointer={(pointed) => inList(shown, listed, pointed)}>
      <List {...listed} />
    </PointerBox>
  );
}

function inList(
  { mode, setMode, place: { listState } }: ScreenState,
  { view, columns, height }: Omit<PointedListProps, 'shown' | 'marked'>,
  { what, y }: Pointed,
): void {
  // A question, or a text that is being written, keeps what it is about.
  if (mode.name !== 'list' && mode.name !== 'pane') return;
  if (what !== 'click') return listState.step(what === 'up' ? -1 : 1);
  const line = lineAt(view, columns, height, y);
  if (!line) return;
  if (mode.name === 'pane') setMode({ name: 'list' });
  if ('heading' in line) listState.fold(line.heading.name, !line.heading.isFolded);
  else listState.select(line.thing.id);
}

/** The heading or the row in a line of the list. */
function lineAt(view: ListView, columns: number, height: number, y: number): Line | undefined {
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
