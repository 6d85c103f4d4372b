import type { Session } from '../../../api/sessions.ts';
import type { Asked } from '../dialogs/approval.tsx';
import type { ListItem } from '../list/list-items.ts';
import type { Batch } from './batch.ts';
import type { Question } from './question.ts';

/** What the keys go to: the list, the pane beside it, or something over one of them. */
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

/** What is under everything else, and what one comes back to. */
export type Base = 'list' | 'pane';

export const list: Mode = { name: 'list' };
