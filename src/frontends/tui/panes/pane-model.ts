import type { Connection } from '../follow.ts';
import type { Observable } from '../observable.ts';
import type { Reader } from './reader.ts';

/** A text that can be copied. */
export interface Copyable {
  /** What it is, in a few words. */
  name: string;
  text: string;
}

/** What a pane shows: it reads and follows the data, and knows where the reader is. */
export interface PaneModel {
  readonly connection: Observable<Connection>;
  /** The newest event that it has; 0 for a log. */
  readonly seq: Observable<number>;
  /** Whether the end is shown. */
  readonly follows: Observable<boolean>;
  readonly reader: Reader;
  /** Begins to read and to follow. A server that dies and returns is followed again. */
  start: () => void;
  stop: () => void;
  /** Reads what is before the first that it has; does nothing where there is none. Throws an AppError. */
  older: () => Promise<void>;
  /** How much of the whole it has read, in a few words: where a search has looked. */
  coverage: () => string;
  /** What can be copied now, best first. */
  copyable: () => Copyable[];
}
