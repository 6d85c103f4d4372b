import type { Interface } from 'node:readline';

/** The terminal's end of a line of input. */
interface RawInput {
  setRawMode?(isRaw: boolean): unknown;
}

/**
 * Keeps a line of input usable after Ctrl-Z and `fg`, and after SIGSTOP and SIGCONT, until it is closed. Node pauses the line
 * for ever, and takes the terminal for raw although the shell has changed its mode. `onContinue` writes what stands before
 * the line.
 */
export function withJobControl(
  lines: Interface,
  input: RawInput,
  onContinue: () => void = () => undefined,
): void {
  const take = () => {
    // Node calls the system only where the mode differs from the one that it remembers.
    input.setRawMode?.(false);
    input.setRawMode?.(true);
    onContinue();
    // The rows that were drawn before are above what the shell has written.
    (lines as { prevRows?: number }).prevRows = 0;
    lines.prompt(true);
  };
  lines.on('SIGTSTP', () => {
    input.setRawMode?.(false);
    // All of the job, as the terminal does. It returns after the stop, or at once where no shell could continue the job.
    process.kill(0, 'SIGTSTP');
    take();
  });
  process.on('SIGCONT', take);
  lines.once('close', () => process.off('SIGCONT', take));
}
