import type { Interface } from 'node:readline/promises';

/** Ends a question at Ctrl-C with SIGINT for this process: a terminal in raw mode sends no signal itself. */
export function interruptAtCtrlC(lines: Interface): void {
  lines.on('SIGINT', () => {
    lines.close();
    process.kill(process.pid, 'SIGINT');
  });
}

/** Asks a question. Resolves with null if the input ends, as with Ctrl-D. Rejects if `signal` aborts. */
export function answerTo(
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
  return Promise.race([answered, ended]);
}
