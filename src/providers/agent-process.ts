import type { Readable } from 'node:stream';
import type { Child, ChildExit } from '../children/supervisor.ts';
import type { Clock } from '../lib/clock.ts';

/** So much of what an agent said on stderr is kept, to explain its end. */
const STDERR_TAIL_CHARACTERS = 2000;
/** One that closed its output has this long to go by itself. */
const LOST_GRACE_MS = 1000;

/** Keeps the end of what an agent says on stderr; gives its last lines in one. */
export function tailOf(stderr: Readable): () => string {
  let tail = '';
  stderr.setEncoding('utf8');
  stderr.on('data', (text: string) => {
    tail = (tail + text).slice(-STDERR_TAIL_CHARACTERS);
  });
  return () => tail.trim().split('\n').slice(-5).join(' | ');
}

/** How an agent went, in words. */
export function saidOfExit(exited: Promise<ChildExit>): Promise<string> {
  return exited.then(
    ({ code, signal }) => {
      if (signal) return `was killed by ${signal}`;
      return code === null
        ? 'runs as another user, took no signal, and was let go'
        : `exited with ${code}`;
    },
    (error: unknown) => `could not be started: ${String(error)}`,
  );
}

/** With the last lines of its stderr, where there are any. */
export function withTail(how: string, tail: string): string {
  return tail ? `${how}; it said: ${tail}` : how;
}

/** An answer that has to come within `ms`, and while the agent lives. Throws Error where it does not. */
export async function answered<T>(
  answer: Promise<T>,
  { ms, clock, gone }: { ms: number; clock: Clock; gone: Promise<string> },
): Promise<T> {
  const timer = new AbortController();
  try {
    return await Promise.race([
      answer,
      clock.sleep(ms, timer.signal).then(() => {
        throw new Error(`it did not answer within ${ms / 1000} s`);
      }),
      gone.then((how) => {
        throw new Error(`it ${how}`);
      }),
    ]);
  } finally {
    timer.abort();
  }
}

/**
 * Resolves when an agent is gone and all it said was heard, with what is known of why; ends one that is of no use any
 * more. `closed` resolves when its output has ended, with what was wrong with it, or null.
 */
export async function endOf(
  child: Child,
  given: { closed: Promise<string | null>; stderr: () => string; clock: Clock },
): Promise<string> {
  const exited = saidOfExit(child.exited);
  // What it said before it went is still on its way.
  const wrong = await Promise.race([
    given.closed,
    exited.then(() => given.clock.sleep(LOST_GRACE_MS)).then(() => null),
  ]);
  const isGone = wrong === null && (await exitsWithin(child, LOST_GRACE_MS, given.clock));
  if (!isGone) await child.end(0);
  if (wrong !== null) return `broke the protocol and was ended: ${wrong}`;
  return withTail(await exited, given.stderr());
}

/** Whether a child goes by itself, for so long. */
export async function exitsWithin(child: Child, ms: number, clock: Clock): Promise<boolean> {
  const decided = new AbortController();
  const exited = child.exited.then(
    () => true,
    () => true,
  );
  const late = clock.sleep(ms, decided.signal).then(
    () => false,
    () => false,
  );
  return Promise.race([exited, late]).finally(() => decided.abort());
}
