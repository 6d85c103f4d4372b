import type { Readable } from 'node:stream';
import { plain } from '../lib/plain.ts';
import type { Child, ChildExit } from '../children/supervisor.ts';
import type { Clock } from '../lib/clock.ts';
import type { Heard } from './json-lines.ts';

/** So much of what an agent said on stderr is kept, to explain its end. */
const STDERR_TAIL_CHARACTERS = 2000;
/** One that closed its output has this long to go by itself. */
const LOST_GRACE_MS = 1000;

/** Keeps the end of what an agent says on stderr; gives its last lines in one, without what a terminal would obey. */
export function tailOf(stderr: Readable): () => string {
  let tail = '';
  stderr.setEncoding('utf8');
  stderr.on('data', (text: string) => {
    tail = (tail + text).slice(-STDERR_TAIL_CHARACTERS);
  });
  return () => plain(tail).trim().split('\n').slice(-5).join(' | ');
}

/** How an agent went, in words. */
function saidOfExit(exited: Promise<ChildExit>): Promise<string> {
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
function withTail(how: string, tail: string): string {
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
 * more. What was wrong with its output is why, however it exited: of the two, the exit may well be seen first.
 */
export async function endOf(
  child: Child,
  given: { heard: Heard; stderr: () => string; clock: Clock },
): Promise<string> {
  const exited = saidOfExit(child.exited);
  const { heard, stderr, clock } = given;
  const wrong = await Promise.race([heard.ended, exited.then(() => untilHeard(heard, clock))]);
  const isGone = wrong === null && (await exitsWithin(child, LOST_GRACE_MS, clock));
  if (!isGone) await child.end(0);
  if (wrong !== null) return `broke the protocol and was ended: ${wrong}`;
  return withTail(isGone ? await exited : 'closed its output and was ended', stderr());
}

/**
 * What was wrong with the output of an agent that has exited. All it had written is read first; somebody else may hold
 * its output open without end, so it is over too when nothing has come for a while.
 */
async function untilHeard(heard: Heard, clock: Clock): Promise<string | null> {
  const over = new AbortController();
  const silent = async (): Promise<null> => {
    for (let before = -1; before !== heard.progress();) {
      before = heard.progress();
      await clock.sleep(LOST_GRACE_MS, over.signal);
      // On a busy machine the timer may come before what is there to be read.
      for (let rounds = 0; rounds < 3; rounds++)
        await new Promise((resolve) => setImmediate(resolve));
    }
    return null;
  };
  return Promise.race([heard.ended, silent().catch(() => null)]).finally(() => over.abort());
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
