import type { Palette } from '../../terminal/palette.ts';

/** The size and the colours in which a pane is drawn. */
export interface Shape {
  /** How many lines of text are shown. */
  rows: number;
  columns: number;
  palette: Palette;
}
