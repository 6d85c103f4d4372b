import { useState } from 'react';
import type { Session } from '../../../api/sessions.ts';
import type { EventScope } from '../../../client/event-scope.ts';
import type { Asked } from '../dialogs/approval.tsx';
import type { ListItem } from '../list/list-items.ts';
import type { ListView } from '../list/list-state.ts';
import type { Copyable, Hold } from '../panes/pane-model.ts';
import type { Notices } from '../react-hooks.ts';
import type { Batch } from './batch.ts';
import type { ScreenContext } from './screen-context.ts';
import type { Question } from './stop.ts';
import type { Pane } from './use-pane.ts';

/** The part of the screen that has the keys: the list, the pane, or a dialog over both. */
export type Mode =
  | { name: 'list' | 'pane' | 'filter' | 'help' | 'new' | 'copy' | 'server' | 'usage' | 'search' }
  | { name: 'palette' }
  | {
      name: 'say' | 'snooze' | 'rename' | 'queue' | 'diff' | 'merge' | 'settings' | 'fork';
      session: Session;
    }
  | { name: 'approval'; asked: Asked }
  | { name: 'confirm'; question: Question }
  | { name: 'batch'; batch: Batch }
  | { name: 'save'; item: ListItem };

/** The part of the screen below a dialog, which has the keys when the dialog closes. */
export type Base = 'list' | 'pane';

export const list: Mode = { name: 'list' };

/** The page at one moment: what its keys and its parts need of it. */
export interface ScreenState extends Notices {
  context: ScreenContext;
  view: ListView;
  item: ListItem | undefined;
  marks: Marks;
  mode: Mode;
  setMode: (mode: Mode) => void;
  /** Closes the dialog of `mode`: back to the list or the pane, whichever had the keys before. Any later mode stays. */
  back: () => void;
  /** The keys that the pane withholds from the page. */
  hold: Hold;
  setHold: (hold: Hold) => void;
  /** The pane of the selected row; null until the selection rests. */
  pane: Pane | null;
  copyable: () => readonly Copyable[];
  /** Whether the pane is shown below the list, or alone where it is beside the list otherwise. */
  peeks: boolean;
  setPeeks: (next: (peeks: boolean) => boolean) => void;
  /** Whether the pane is beside the list. */
  isWide: boolean;
  /** The lines of the notice, in place of hints; empty without a notice. */
  noticeLines: readonly string[];
  /** The lines and columns of everything between the first line and the last ones. */
  height: number;
  columns: number;
  /** Shows what a session has with one of these keys of the conversation, the first that is there. */
  showAt: (session: string, keys: readonly string[]) => void;
  /** Shows the events of a scope; of several servers, of the one that has the item with this id. */
  onEvents: (scope: EventScope, id?: string) => void;
  onLeave: () => void;
}

/** The rows that a person has marked, to act on all of them at once. */
export interface Marks {
  /** The marked rows, in the order of the list. */
  items: readonly ListItem[];
  ids: ReadonlySet<string>;
  toggle: (id: string) => void;
  /** Marks these rows only. */
  set: (ids: readonly string[]) => void;
}

/** The marks of rows. A row that leaves the list leaves the marks. */
export function useMarks(all: readonly ListItem[]): Marks {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  return {
    items: ids.size === 0 ? [] : all.filter(({ id }) => ids.has(id)),
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
