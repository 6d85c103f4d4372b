import type { Database } from '../../../core/store/database.ts';
import type { AppendedEntry } from '../../../core/events/log.ts';

/** The group of each event kind, by the first word of the kind; a word that is missing here is its own group. */
const groups: Record<string, string> = {
  storage: 'runtime',
  message: 'output',
  reasoning: 'output',
  tool: 'output',
  plan: 'output',
  usage: 'output',
  delivery: 'team',
};

/** Counts the events that have reached the disk since the start, by kind. */
export class EventCounts {
  readonly #counts = new Map<string, number>();

  constructor(db: Database) {
    db.onDurable((items) => {
      for (const { kind } of items as AppendedEntry[]) this.#counts.set(kind, this.of(kind) + 1);
    });
  }

  of(kind: string): number {
    return this.#counts.get(kind) ?? 0;
  }

  /** Returns the counts by group; groups without an event are left out. */
  byGroup(): Record<string, number> {
    const found: Record<string, number> = {};
    for (const [kind, count] of this.#counts) {
      const word = kind.split('.')[0] ?? '';
      const group = groups[word] ?? word;
      found[group] = (found[group] ?? 0) + count;
    }
    return found;
  }
}
