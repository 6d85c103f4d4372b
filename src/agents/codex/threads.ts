import fs from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../../core/lib/clock.ts';
import { answered } from '../agent-process.ts';
import { Refusal } from '../json-connection.ts';
import { type KnownSession, ProviderError, type TurnOutcome } from '../provider.ts';
import type { AppServer } from './app-server.ts';
import { type Ask, listAll } from './models.ts';
import type { TurnError } from './outcome.ts';

export interface ThreadTurn {
  /** Null until codex has named the turn. */
  id: string | null;
  /** Whether codex has said that the turn began: before that it refuses to interrupt it. */
  hasBegun: boolean;
  /** Null for a turn that the agent did not begin, such as one that a resumed thread is still at. */
  readonly own: OwnTurn | null;
  /** Resolves when the thread has left the turn. */
  readonly over: PromiseWithResolvers<void>;
}

/** The state of a turn that the agent was prompted for. */
interface OwnTurn {
  readonly outcome: PromiseWithResolvers<TurnOutcome>;
  /** The newest error that codex has reported. */
  error: TurnError | null;
  /** Whether the agent makes way for another one after it. */
  isLast: boolean;
}

/** The turn of a thread: `starting` lasts until codex has named the turn. */
export interface AtTurn {
  is: 'starting' | 'running';
  turn: ThreadTurn;
}

/** `leaving`: the agent has ended, and its thread still runs a turn. `over`: the agent has left the thread. */
export type AgentState = { is: 'idle' } | AtTurn | { is: 'leaving'; at: AtTurn } | { is: 'over' };

export function ownTurn(): ThreadTurn & { own: OwnTurn } {
  const own = { outcome: Promise.withResolvers<TurnOutcome>(), error: null, isLast: false };
  return { ...foreignTurn(), own };
}

/** A turn that the agent did not begin. */
export function foreignTurn(): ThreadTurn {
  return { id: null, hasBegun: false, own: null, over: Promise.withResolvers() };
}

/** How codex says that it does not have a thread. */
const GONE_WORDS =
  /no rollout found|missing source rollout|no such file|not loaded|not found|invalid (thread|session) id/i;

/** A turn that an agent has left behind has this long to end before another agent may have its thread. */
const LEFT_TURN_MS = 10_000;

const thread = z.looseObject({ id: z.string(), path: z.string().nullish().catch(null) });
const answer = z.looseObject({ thread });

/** Selects the threads of all model providers and programs. By default, codex lists only threads of interactive programs. */
export const threadKinds = {
  modelProviders: [],
  sourceKinds: ['cli', 'vscode', 'exec', 'appServer', 'unknown'],
};

/** The ids of all threads that codex has. */
export async function listThreads(ask: Ask): Promise<ReadonlySet<string>> {
  const params = { limit: 100, ...threadKinds };
  const threads = await listAll(ask, 'thread/list', params);
  const ids = await Promise.all(threads.map(idOf));
  return new Set(ids.filter((id) => id !== null));
}

/**
 * Whether codex still has the thread of a session. Its database may name a thread whose file is gone: codex looks for
 * the file only where it is asked for the turns as well.
 */
export async function hasThread({ ref, isEmpty }: KnownSession, ask: Ask): Promise<boolean> {
  try {
    const found = answer.safeParse(await ask('thread/read', { threadId: ref })).data?.thread;
    if (found && !isEmpty && (await isLost(found)))
      await ask('thread/read', { threadId: ref, includeTurns: true });
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/** Resolves when the agent that last had a thread has left it. Throws {@link ProviderError} after ten seconds. */
export async function whenFree(threadId: string, server: AppServer, clock: Clock): Promise<void> {
  const route = server.routeOf(threadId);
  if (!route) return;
  try {
    await answered(route.free, { ms: LEFT_TURN_MS, clock, gone: server.gone });
  } catch (error) {
    throw new ProviderError(
      'provider_unavailable',
      'codex: codex is still running the last turn of this session: try again when all other codex sessions are idle, ' +
        'because cadre then restarts codex',
      { cause: error },
    );
  }
}

/** Whether an error says that codex does not have a thread. */
export function isGone(error: unknown): boolean {
  return isRefusal(error, GONE_WORDS);
}

/** Whether an error of `AppServer.ask` is a refusal of codex in such words. */
export function isRefusal(error: unknown, words: RegExp): boolean {
  const { cause } = error as Error;
  return cause instanceof Refusal && words.test(cause.message);
}

/** The id of a listed thread; null where the file in which codex keeps the thread is gone. */
async function idOf(raw: unknown): Promise<string | null> {
  const { data } = thread.safeParse(raw);
  return data && !(await isLost(data)) ? data.id : null;
}

async function isLost({ path: file }: z.output<typeof thread>): Promise<boolean> {
  if (typeof file !== 'string') return false;
  return fs.access(file).then(
    () => false,
    () => true,
  );
}
