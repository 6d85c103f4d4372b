import { addAbortListener } from 'node:events';
import type { Readable } from 'node:stream';
import { newUuid } from '../core/lib/ids.ts';
import { makeDirectory } from '../core/lib/make-directory.ts';
import { plain } from '../core/lib/plain.ts';
import type { BarrierSandbox } from '../core/children/spawn-barrier.ts';
import type { Child, ChildExit, Supervisor } from '../core/children/supervisor.ts';
import type { Clock } from '../core/lib/clock.ts';
import { yieldToEventLoop } from '../core/lib/slices.ts';
import type { ReadProgress } from './json-lines.ts';
import { unavailable } from './provider.ts';

/** The last characters of an agent's stderr that are kept, to explain its end. */
const STDERR_TAIL_CHARACTERS = 2000;
/** So much of each output of a command that runs to its end is kept, in UTF-16 code units. */
const MAX_OUTPUT_CHARACTERS = 64 * 1024;
/** An agent whose connection is of no use any more has this long to exit by itself. */
export const LOST_GRACE_MS = 1000;

/** An agent that is at no turn has this long to go by itself when its input ends. */
const IDLE_EXIT_MS = 500;

/** The variable by which the processes of an agent are found, also those that have left its group. */
const AGENT_VARIABLE = 'CADRE_AGENT_RUN';

/**
 * Starts an agent; `who` is how its provider calls it. When the agent ends, all processes that it started end too,
 * including processes in other process groups. Throws {@link ProviderError}.
 */
export async function startAgent(
  supervisor: Supervisor,
  start: Parameters<Supervisor['start']>[0],
  who: string,
): Promise<Child> {
  const id = newUuid();
  const env = { ...start.env, [AGENT_VARIABLE]: id };
  try {
    return await supervisor.start({ ...start, env, mark: `${AGENT_VARIABLE}=${id}` });
  } catch (error) {
    throw unavailable(`${who} could not be started in "${start.cwd}"`, error);
  }
}

/** Makes the home of an agent, which only its owner can enter. Throws {@link ProviderError}. */
export function makeHome(
  home: string,
  { provider, agent = '', section }: { provider: string; agent?: string; section: string },
): void {
  try {
    makeDirectory(home);
  } catch (error) {
    throw unavailable(
      `${provider}: cannot create the home directory "${home}"${agent} (${(error as Error).message}): set ${section}.home to a directory that is writable for the user who runs cadre`,
      error,
    );
  }
}

/**
 * Closes the input of an agent, waits for an idle agent to exit by itself, and then kills it and all processes that it
 * started.
 */
export async function endAgent(
  child: Child,
  { graceMs, isIdle, clock }: { graceMs: number; isIdle: boolean; clock: Clock },
): Promise<void> {
  child.stdin.end();
  if (graceMs > 0 && isIdle) await exitsWithin(child, Math.min(graceMs, IDLE_EXIT_MS), clock);
  await child.end(graceMs);
}

/** Keeps the end of an agent's stderr. The function gives its last five lines as one, without control sequences. */
export function tailOf(stderr: Readable): () => string {
  let tail = '';
  stderr.setEncoding('utf8');
  stderr.on('data', (text: string) => {
    tail = (tail + text).slice(-STDERR_TAIL_CHARACTERS);
  });
  return () => plain(tail).trim().split('\n').slice(-5).join(' | ');
}

/**
 * Reports whether an agent was lost: it has exited, or its output has ended. The loss is known before {@link
 * agentEndOf} resolves.
 */
export function lossOf(child: Child, heard: ReadProgress): () => boolean {
  let isLost = false;
  const lose = () => void (isLost = true);
  void heard.ended.then(lose);
  void child.exited.then(lose, lose);
  return () => isLost;
}

function exitText(exited: Promise<ChildExit>): Promise<string> {
  return exited.then(
    ({ code, signal }) => {
      if (signal) return `was killed by ${signal}`;
      return code === null
        ? 'runs as another user and could not be stopped'
        : `exited with code ${code}`;
    },
    (error: unknown) => `could not be started: ${String(error)}`,
  );
}

/** The result of a request. Throws {@link ProviderError}, caused by the refusal of the agent where it refused. */
export async function replyTo<T>(
  { provider, method, answer }: { provider: string; method: string; answer: Promise<T> },
  limits: AnswerLimits,
): Promise<T> {
  try {
    return await answered(answer, limits);
  } catch (error) {
    const { message } = error as Error;
    throw unavailable(`${provider}: request "${method}" to the agent failed: ${message}`, error);
  }
}

interface AnswerLimits {
  ms: number;
  clock: Clock;
  /** Resolves when the agent is gone, with why. */
  gone: Promise<string>;
}

/** Waits for a response for at most `ms`, while the agent runs. Throws Error if there is no response. */
export async function answered<T>(
  answer: Promise<T>,
  { ms, clock, gone }: AnswerLimits,
): Promise<T> {
  const lost = Promise.withResolvers<never>();
  using _waiting = onceGone(gone, (how) => lost.reject(new Error(`the agent ${how}`)));
  const arrived = answer.then((value) => ({ value }));
  const first = await within(Promise.race([arrived, lost.promise]), ms, clock);
  if (first === null) throw new Error(`the agent sent no answer within ${ms / 1000} s`);
  return first.value;
}

/** The listeners of the end of an agent, by the promise of that end. */
const waiting = new WeakMap<Promise<string>, Set<(how: string) => void>>();

/**
 * Calls `listener` when an agent is gone, with why, unless it is disposed before. A reaction of the promise itself would
 * keep the response to each request in memory until then.
 */
function onceGone(gone: Promise<string>, listener: (how: string) => void): Disposable {
  const listeners = waiting.get(gone) ?? new Set();
  if (!waiting.has(gone)) {
    waiting.set(gone, listeners);
    void gone.then((how) => {
      waiting.delete(gone);
      for (const one of listeners) one(how);
    });
  }
  listeners.add(listener);
  return { [Symbol.dispose]: () => void listeners.delete(listener) };
}

/** The result of `work`, or null after `ms`. */
export async function within<T>(work: Promise<T>, ms: number, clock: Clock): Promise<T | null> {
  const over = new AbortController();
  const late = clock.sleep(ms, over.signal).then(
    () => null,
    () => null,
  );
  return Promise.race([work, late]).finally(() => over.abort());
}

/**
 * Resolves when an agent is gone and all its output was read, with why it ended; ends an agent whose output has ended.
 * An error in the output counts more than the exit, which may be seen before that error.
 */
export async function agentEndOf(
  child: Child,
  { heard, stderr, clock }: { heard: ReadProgress; stderr: () => string; clock: Clock },
): Promise<string> {
  const exited = exitText(child.exited);
  const wrong = await Promise.race([heard.ended, exited.then(() => untilHeard(heard, clock))]);
  const isGone = wrong === null && (await exitsWithin(child, LOST_GRACE_MS, clock));
  if (!isGone) await child.end(0);
  if (wrong !== null) return `broke the protocol and was stopped: ${wrong}`;
  const how = isGone ? await exited : 'closed its output and was stopped';
  const tail = stderr();
  return tail ? `${how}: ${tail}` : how;
}

/**
 * The error in the output of an agent that has exited, or null. All that the agent had written is read first. Another
 * process may hold the output open for ever, so the reading also ends when nothing has come for a second.
 */
async function untilHeard(heard: ReadProgress, clock: Clock): Promise<string | null> {
  const over = new AbortController();
  const silent = async (): Promise<null> => {
    for (let before = -1; before !== heard.progress();) {
      before = heard.progress();
      await clock.sleep(LOST_GRACE_MS, over.signal);
      // On a busy machine the timer may go off before data that has arrived is read.
      for (let rounds = 0; rounds < 3; rounds++) await yieldToEventLoop();
    }
    return null;
  };
  return Promise.race([heard.ended, silent().catch(() => null)]).finally(() => over.abort());
}

/** Whether a child exits by itself within `ms`. */
export async function exitsWithin(child: Child, ms: number, clock: Clock): Promise<boolean> {
  const exited = child.exited.then(
    () => true,
    () => true,
  );
  return (await within(exited, ms, clock)) ?? false;
}

export interface ProgramOptions {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  supervisor: Supervisor;
  clock: Clock;
  sandbox?: BarrierSandbox | null;
}

/**
 * Runs a command of an agent's program to its end, and kills it after `limitMs`. All processes that it started end with it,
 * so that none of them holds its output open. `name` is the usual name of the program. `code` is null for a command that was
 * killed. Throws {@link ProviderError}.
 */
export async function runProgram(
  name: string,
  words: readonly string[],
  { command, args, env, supervisor, clock }: ProgramOptions,
  limitMs: number,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const what = [name, ...words].join(' ');
  const start = { command, args: [...args, ...words], cwd: process.cwd(), env, what };
  const child = await startAgent(supervisor, { ...start, stdin: 'none' }, `${name}: "${what}"`);
  const limit = clock.after(limitMs, () => void child.end(0));
  try {
    const ended = [beginningOf(child.stdout), beginningOf(child.stderr), child.exited] as const;
    const [stdout, stderr, { code }] = await Promise.all(ended);
    return { code, stdout, stderr };
  } finally {
    limit[Symbol.dispose]();
    await child.end(0);
  }
}

/** Reads an output to its end, and returns its beginning. */
async function beginningOf(output: Readable): Promise<string> {
  let kept = '';
  output.setEncoding('utf8');
  for await (const part of output as AsyncIterable<string>)
    if (kept.length < MAX_OUTPUT_CHARACTERS) kept += part;
  return kept.slice(0, MAX_OUTPUT_CHARACTERS);
}

/** Resolves with the result of `work`. Rejects with the reason of the signal if it aborts earlier. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => undefined);
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  using _listener = addAbortListener(signal, () => aborted.reject(signal.reason as Error));
  return await Promise.race([work, aborted.promise]);
}
