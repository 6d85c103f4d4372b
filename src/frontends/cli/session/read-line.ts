import { createInterface } from 'node:readline/promises';
import { answerTo } from '../answer-to.ts';
import { withJobControl } from '../job-control.ts';
import type { Terminal } from './terminal.ts';

/**
 * A line that somebody types at the terminal; null for Ctrl-D. Ctrl-C sends its signal. Rejects if `signal` aborts.
 */
export async function readLine(
  terminal: Terminal,
  prompt: string,
  signal: AbortSignal,
): Promise<string | null> {
  signal.throwIfAborted();
  const { output } = terminal;
  const input = terminal.open();
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  withJobControl(lines, input);
  try {
    const line = await answerTo(lines, prompt, signal);
    if (line === null) output.write('\n');
    return line;
  } finally {
    lines.close();
    terminal.close(input);
  }
}
