import type { Session } from '../../../api/sessions.ts';
import type { Asked } from '../dialogs/approval.tsx';
import type { ListItem } from '../list/list-items.ts';
import type { Batch } from './batch.ts';
import type { Question } from './question.ts';

/** The part of the screen that has the keys: the list, the pane, or a dialog over both. */
export type Mode =
  | { name: 'list' | 'pane' | 'filter' | 'help' | 'new' | 'copy' | 'server' | 'usage' | 'search' }
  | { name: 'palette' }
  | {
      name: 'say' | 'snooze' | 'rename' | 'queue' | 'diff' | 'finish' | 'settings';
      session: Session;
    }
  | { name: 'sheet'; asked: Asked }
  | { name: 'confirm'; question: Question }
  | { name: 'batch'; batch: Batch }
  | { name: 'save'; thing: ListItem };

/** The part of the screen below a dialog, which has the keys when the dialog closes. */
export type Base = 'list' | 'pane';

export const list: Mode = { name: 'list' };
