import type { RuntimeEventRecord, StreamGap } from '../../api/events.ts';
import { contains, joined, type Row, rowOf } from './row.ts';

/** The list of one scope of the log and the position in it. The rows are a window of the log. */
export interface View {
  /** Ordered by the seq of their first event. */
  rows: readonly Row[];
  /** The newest seq that was received. */
  seq: number;
  /** Whether the list scrolls to each new event. */
  follows: boolean;
  /** The row with the cursor, and the top row; without meaning while the list follows. */
  selected: string | null;
  top: string | null;
  /** How many events were received since the list was paused. */
  unseen: number;
  /** Whether the first row is the first of the scope. */
  hasStart: boolean;
  /** Whether the newest rows were dropped, to make room for older ones. */
  isCut: boolean;
  /** The text of the search; empty without one. */
  search: string;
  gap: StreamGap | null;
}

/** The window holds at most this many rows. */
export const MAX_ROWS = 5000;

export const emptyView: View = {
  rows: [],
  seq: 0,
  follows: true,
  selected: null,
  top: null,
  unseen: 0,
  hasStart: false,
  isCut: false,
  search: '',
  gap: null,
};

/** The view with newer events. */
export function withNewer(view: View, events: readonly RuntimeEventRecord[]): View {
  const fresh = events.filter(({ seq }) => seq > view.seq);
  const seq = fresh.at(-1)?.seq ?? view.seq;
  const unseen = view.follows ? 0 : view.unseen + fresh.length;
  const rows = withEvents(view.rows, events, view.isCut);
  if (rows.length <= MAX_ROWS) return { ...view, rows, seq, unseen };
  return view.follows
    ? { ...view, rows: rows.slice(-MAX_ROWS), seq, unseen, hasStart: false }
    : { ...view, rows: rows.slice(0, MAX_ROWS), seq, unseen, isCut: true };
}

/** The view with a page of older events. `isFirst` says that no page is before this one. */
export function withOlder(
  view: View,
  events: readonly RuntimeEventRecord[],
  isFirst: boolean,
): View {
  const rows = withEvents(view.rows, events);
  const hasStart = view.hasStart || isFirst;
  if (rows.length <= MAX_ROWS) return { ...view, rows, hasStart };
  return view.follows
    ? { ...view, rows: rows.slice(-MAX_ROWS), hasStart: false }
    : { ...view, rows: rows.slice(0, MAX_ROWS), hasStart, isCut: true };
}

/** The rows with these events. With `onlyOfThese`, events extend the rows that exist and add none. */
function withEvents(
  rows: readonly Row[],
  events: readonly RuntimeEventRecord[],
  onlyOfThese = false,
): readonly Row[] {
  if (events.length === 0) return rows;
  const byKey = new Map(rows.map((row) => [row.key, row]));
  for (const row of events.map(rowOf)) {
    const known = byKey.get(row.key);
    if (known) byKey.set(row.key, joined(known, row));
    else if (!onlyOfThese) byKey.set(row.key, row);
  }
  return [...byKey.values()].toSorted((a, b) => a.first - b.first);
}

/** The visible rows, and the index of the row with the cursor among them. */
export function visible(view: View, height: number): { rows: readonly Row[]; cursor: number } {
  const cursor = cursorOf(view);
  const top = topFor(view, cursor, height);
  return { rows: view.rows.slice(top, top + height), cursor: cursor - top };
}

/** The row with the cursor. */
export function selectedRow(view: View): Row | undefined {
  return view.rows[cursorOf(view)];
}

/** Moves the cursor by a number of rows. A move beyond the last row follows again. */
export function moved(view: View, by: number, height: number): View {
  const wanted = cursorOf(view) + by;
  if (by > 0 && wanted >= view.rows.length && !view.isCut) return following(view);
  return selecting(view, wanted, height);
}

/** Pauses the list at its position. */
export function paused(view: View, height: number): View {
  return selecting(view, cursorOf(view), height);
}

/** Follows again. Does not change `isCut`: rows that were dropped have to be read again. */
export function following(view: View): View {
  return { ...view, follows: true, selected: null, top: null, unseen: 0 };
}

/** Searches from the cursor backwards for the newest row that contains a text. */
export function searching(view: View, search: string, height: number): View {
  const looks = { ...view, search };
  const row = selectedRow(looks);
  return search === '' || (row && contains(row, search)) ? looks : foundNext(looks, -1, height);
}

/** Selects the next match upwards (-1) or downwards (1). The search wraps around. */
export function foundNext(view: View, direction: 1 | -1, height: number): View {
  const { rows, search } = view;
  if (search === '') return view;
  const from = cursorOf(view);
  for (let step = 1; step <= rows.length; step++) {
    const index = (from + direction * step + rows.length * 2) % rows.length;
    const row = rows[index];
    if (row && contains(row, search)) return selecting(view, index, height);
  }
  return view;
}

/** The number of rows that match. */
export function matchCount({ rows, search }: View): number {
  return search === '' ? 0 : rows.filter((row) => contains(row, search)).length;
}

function selecting(view: View, index: number, height: number): View {
  const cursor = Math.max(0, Math.min(view.rows.length - 1, index));
  const top = topFor(view, cursor, height);
  return {
    ...view,
    follows: false,
    selected: view.rows[cursor]?.key ?? null,
    top: view.rows[top]?.key ?? null,
  };
}

function cursorOf({ rows, follows, selected }: View): number {
  if (follows) return rows.length - 1;
  return Math.max(
    0,
    rows.findIndex(({ key }) => key === selected),
  );
}

/** The index of the top row: unchanged, unless the cursor would not be visible. */
function topFor({ rows, follows, top }: View, cursor: number, height: number): number {
  const end = Math.max(0, rows.length - height);
  const known = rows.findIndex(({ key }) => key === top);
  const wanted = follows || known < 0 ? end : known;
  return Math.max(0, Math.min(cursor, Math.max(wanted, cursor - height + 1)));
}
