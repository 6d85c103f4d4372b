import { type Palette, paletteFor } from '../../terminal/palette.ts';
import type { Clock } from '../../lib/clock.ts';
import type { World } from '../world.ts';
import type { TerminalInput } from './keyboard.ts';

/** A terminal at which somebody can be asked: keys from stdin, questions to stderr. */
export interface Terminal {
  input: TerminalInput;
  output: NodeJS.WriteStream;
  palette: Palette;
  clock: Clock;
}

/** The terminal of a command; null where its stdin or its stderr is none. */
export function terminalOf({ stdin, stderr, env, clock }: World): Terminal | null {
  if (!stdin.isTTY || !stderr.isTTY) return null;
  return {
    input: stdin as NodeJS.ReadStream,
    output: stderr as NodeJS.WriteStream,
    palette: paletteFor(stderr, env),
    clock,
  };
}

/** The size of a terminal; 24 lines of 80 columns where it does not say. */
export function sizeOf({ output }: Terminal): { rows: number; columns: number } {
  return { rows: output.rows || 24, columns: output.columns || 80 };
}
