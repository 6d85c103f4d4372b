import type { Interface } from 'node:readline/promises';
import { Interrupted } from './exit.ts';

/** The questions that ended with Ctrl-C while the process listened for SIGINT, and so continued. */
const interrupted = new WeakSet<Interface>();

/** Ends a question at Ctrl-C with SIGINT for this process: a terminal in raw mode sends no signal itself. */
export function interruptAtCtrlC(lines: Interface): void {
  lines.on('SIGINT', () => {
    interrupted.add(lines);
    lines.close();
    process.kill(process.pid, 'SIGINT');
  });
}

/** Throws `Interrupted` if `interruptAtCtrlC` has ended a question. */
export function throwIfInterrupted(lines: Interface): void {
  if (interrupted.has(lines)) throw new Interrupted();
}

/**
 * Asks a question. Resolves with null if the input ends, as with Ctrl-D. Rejects if `signal` aborts, and with `Interrupted`
 * as `throwIfInterrupted`.
 */
export async function answerTo(
  lines: Interface,
  question: string,
  signal?: AbortSignal,
): Promise<string | null> {
  // An answer that comes with the end of the input counts.
  const ended = new Promise<null>((resolve) =>
    lines.once('close', () => setImmediate(() => resolve(null))),
  );
  const answered = lines.question(question, signal ? { signal } : {}).catch((error: unknown) => {
    // For Ctrl-D readline rejects, too.
    if (signal?.aborted || (error as Error).name !== 'AbortError') throw error;
    return null;
  });
  const answer = await Promise.race([answered, ended]);
  throwIfInterrupted(lines);
  return answer;
}
