import { useState } from 'react';
import type { ListItem } from '../list/list-items.ts';

/** The rows that a person has marked, to act on all of them at once. */
export interface Marks {
  /** The marked rows, in the order of the list. */
  things: readonly ListItem[];
  ids: ReadonlySet<string>;
  toggle: (id: string) => void;
  /** Marks these rows only. */
  set: (ids: readonly string[]) => void;
}

/** The marks of rows. A row that leaves the list leaves the marks. */
export function useMarks(all: readonly ListItem[]): Marks {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  return {
    things: ids.size === 0 ? [] : all.filter(({ id }) => ids.has(id)),
    ids,
    toggle: (id) =>
      setIds((before) => {
        const next = new Set(before);
        if (!next.delete(id)) next.add(id);
        return next;
      }),
    set: (next) => setIds(new Set(next)),
  };
}
