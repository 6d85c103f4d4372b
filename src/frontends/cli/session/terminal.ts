import fs from 'node:fs';
import tty from 'node:tty';
import { isInForeground } from '../../../core/children/identity.ts';
import { type Palette, paletteFor } from '../../terminal/palette.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import type { CommandIo } from '../command-io.ts';

export interface Terminal {
  /** Opens the source of keys for one question. */
  open(): NodeJS.ReadStream;
  close(input: NodeJS.ReadStream): void;
  output: NodeJS.WriteStream;
  palette: Palette;
  clock: Clock;
}

/**
 * The terminal of a command: questions go to stderr, keys come from stdin, or where something is piped in from the
 * terminal itself. Null where there is none, and for a job in the background, which a question would stop.
 */
export function terminalOf({ stdin, stderr, env, clock }: CommandIo): Terminal | null {
  if (!stderr.isTTY || !isInForeground()) return null;
  const keys = stdin.isTTY ? fromStdin(stdin as NodeJS.ReadStream) : fromTerminal();
  const output = stderr as NodeJS.WriteStream;
  return keys && { ...keys, output, palette: paletteFor(stderr, env), clock };
}

type Keys = Pick<Terminal, 'open' | 'close'>;

function fromStdin(stdin: NodeJS.ReadStream): Keys {
  return { open: () => stdin, close: () => undefined };
}

/** Keys of the terminal of the session. It is open only during a question, so that a shell gets all later keys. */
function fromTerminal(): Keys | null {
  const open = () => new tty.ReadStream(fs.openSync('/dev/tty', 'r+'));
  try {
    open().destroy();
  } catch {
    return null;
  }
  return { open, close: (input) => void input.destroy() };
}

/** The size of a terminal; 24 lines of 80 columns where it does not say. */
export function sizeOf({ output }: Terminal): { rows: number; columns: number } {
  return { rows: output.rows || 24, columns: output.columns || 80 };
}
