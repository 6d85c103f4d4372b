import type { Hook } from '../../api/hooks.ts';
import type { Database } from '../../core/store/database.ts';
import { RecordTable } from '../../core/store/records.ts';
import type { Writer } from '../../core/store/transaction.ts';

/** The stored state of a hook, under its name. */
export interface HookState {
  name: string;
  /** The seq up to which all events are delivered or skipped. */
  cursor: number;
  delivered: number;
  delivered_at: number | null;
  /** The flag is set once an event has reported the failure. */
  failure: (NonNullable<Hook['failure']> & { told: boolean }) | null;
  gap: Hook['gap'];
}

/** The rows of hooks. A hook that is no longer configured keeps its row, and continues there when it comes back. */
export class HookStore extends RecordTable<HookState> {
  constructor(db: Database) {
    super(db, 'hooks', ({ name }) => name);
  }

  /** Returns the state of a hook; one that is new begins after the event `cursor`. */
  begin(tx: Writer, name: string, cursor: number): HookState {
    const known = this.get(tx, name);
    if (known) return known;
    const state = { name, cursor, delivered: 0, delivered_at: null, failure: null, gap: null };
    this.insert(tx, state);
    return state;
  }
}
