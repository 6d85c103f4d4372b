import type { Palette } from '../../terminal/palette.ts';
import type { PaneModel } from './pane-model.ts';

/** What a pane keeps from the frame: every key, only Escape, or none. */
export type Hold = 'all' | 'escape' | null;

export interface PaneProps<Model extends PaneModel = PaneModel> {
  model: Model;
  /** The size of the pane; its last row is its line of status. */
  rows: number;
  columns: number;
  /** Whether keys go to the pane. */
  isFocused: boolean;
  palette: Palette;
  /** Shows a notice in the frame. */
  tell: (text: string) => void;
  onHold: (hold: Hold) => void;
}
