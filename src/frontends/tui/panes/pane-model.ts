import type { Palette } from '../../terminal/palette.ts';
import type { Connection } from '../follow.ts';
import type { Observable } from '../observable.ts';
import type { Reader } from './reader.ts';

export interface Copyable {
  /** A label of one to three words. */
  name: string;
  text: string;
}

/** The model of a pane: it reads and follows the data, and has the position of the reader. */
export interface PaneModel {
  readonly connection: Observable<Connection>;
  /** The newest event that it has; 0 for a log. */
  readonly seq: Observable<number>;
  readonly reader: Reader;
  /** Begins to read and to follow. A server that dies and returns is followed again. */
  start: () => void;
  stop: () => void;
  /** Reads earlier blocks, before the first block that it has; does nothing if there are none. Throws an AppError. */
  older: () => Promise<void>;
  /** How much of the whole it has read, in a few words: where a search has looked. */
  coverage: () => string;
  /** The texts that can be copied now, best first. */
  copyable: () => Copyable[];
}

/** The keys that the pane handles instead of the screen: all, only Escape, or none. */
export type Hold = 'all' | 'escape' | null;

export interface PaneProps<Model extends PaneModel = PaneModel> {
  model: Model;
  /** The size of the pane; its last row is its line of status. */
  rows: number;
  columns: number;
  /** Whether keys go to the pane. */
  isFocused: boolean;
  palette: Palette;
  showNotice: (text: string) => void;
  onHold: (hold: Hold) => void;
}
