import type { EventScope } from '../../../client/event-scope.ts';
import type { ListItem } from '../list/list-items.ts';
import type { ListView } from '../list/list-state.ts';
import type { Copyable, Hold } from '../panes/pane-model.ts';
import type { Notices } from '../react-hooks.ts';
import type { Marks } from './marks.ts';
import type { Mode } from './mode.ts';
import type { ScreenContext } from './screen-context.ts';
import type { Pane } from './use-pane.ts';

/** The page at one moment: what its keys and its parts need of it. */
export interface ScreenState extends Notices {
  place: ScreenContext;
  view: ListView;
  /** The thing that is selected. */
  thing: ListItem | undefined;
  /** The rows that are marked. */
  marks: Marks;
  mode: Mode;
  setMode: (mode: Mode) => void;
  /** Back to the list or the pane, whichever had the keys before. */
  back: () => void;
  /** The keys that the pane withholds from the page. */
  hold: Hold;
  setHold: (hold: Hold) => void;
  /** The pane of what is selected; null until the selection rests. */
  pane: Pane | null;
  /** The texts of the selected item that can be copied. */
  copyable: () => readonly Copyable[];
  /** Whether the pane is shown below the list, or alone where it is beside the list otherwise. */
  peeks: boolean;
  setPeeks: (next: (peeks: boolean) => boolean) => void;
  /** Whether the pane is beside the list. */
  isWide: boolean;
  /** The lines of the notice, in place of hints; empty without a notice. */
  said: readonly string[];
  /** The lines and columns of everything between the first line and the last ones. */
  height: number;
  columns: number;
  /** Shows what a session has with one of these keys of the conversation, the first that is there. */
  showAt: (session: string, keys: readonly string[]) => void;
  /** Shows the events of a scope; of several servers, of the one that has the thing with this id. */
  onEvents: (scope: EventScope, id?: string) => void;
  onLeave: () => void;
}
