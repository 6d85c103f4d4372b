import type { Session } from '../../../api/sessions.ts';
import type { Asked } from '../dialogs/approval.tsx';
import type { Batch } from './batch.ts';

/** What the keys go to: the list, the pane beside it, or something over one of them. */
export type Mode =
  | { name: 'list' | 'pane' | 'filter' | 'help' | 'new' | 'copy' | 'server' | 'usage' | 'search' }
  | { name: 'palette' }
  | { name: 'say' | 'snooze' | 'rename' | 'queue' | 'diff' | 'finish'; session: Session }
  | { name: 'sheet'; asked: Asked }
  | { name: 'confirm'; question: Question }
  | { name: 'batch'; batch: Batch };

/** A question that single keys answer; any other key is a no. */
export interface Question {
  text: string;
  answers: readonly Answer[];
}

export interface Answer {
  /** The keys that give this answer. */
  keys: string;
  label: string;
  work: () => Promise<unknown>;
}

/** What is under everything else, and what one comes back to. */
export type Base = 'list' | 'pane';

export const list: Mode = { name: 'list' };
