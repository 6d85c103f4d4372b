import fs from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../../core/lib/clock.ts';
import { answered } from '../agent-process.ts';
import { Refusal } from '../json-connection.ts';
import { reportNoFork } from '../fork.ts';
import { type AgentSink, type KnownSession, unavailable } from '../provider.ts';
import type { AppServer } from './app-server.ts';
import { type Ask, entriesOf, listAll } from './models.ts';
import path from 'node:path';
import type { ConversationProcess } from '../../api/conversations.ts';
import { readForeignFile } from '../../core/lib/foreign-file.ts';
import { hasProc } from '../../core/lib/platform.ts';
import { MessageBudget } from '../budget.ts';
import {
  type ConversationMark,
  type ConversationQuery,
  type Conversations,
  type ForkPoint,
  type OwnProgram,
  type StoredConversation,
  type StoredItem,
  type StoredTurn,
  type StoredTurns,
  storedTitle,
  TurnCollector,
  type TurnQuery,
} from '../conversations.ts';
import { anyList, fieldOf, maybeText } from '../lenient.ts';
import { Reader } from './items.ts';

/** How codex says that it does not have a thread. */
const GONE_WORDS =
  /no rollout found|missing source rollout|no such file|not loaded|not found|invalid (thread|session) id/i;

/** A turn that an agent has left behind has this long to end before another agent may have its thread. */
const LEFT_TURN_MS = 10_000;

const thread = z.looseObject({ id: z.string(), path: maybeText });
const answer = z.looseObject({ thread });

/** Selects the threads of all model providers and programs. By default, codex lists only threads of interactive programs. */
const threadKinds = {
  modelProviders: [],
  sourceKinds: ['cli', 'vscode', 'exec', 'appServer', 'unknown'],
};

export async function listThreads(ask: Ask): Promise<ReadonlySet<string>> {
  const threads = await listAll(ask, 'thread/list', { limit: 100, ...threadKinds });
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

/** Resolves when the agent that last used a thread has released it. Throws {@link ProviderError} after ten seconds. */
export async function whenFree(threadId: string, server: AppServer, clock: Clock): Promise<void> {
  const route = server.routeOf(threadId);
  if (!route) return;
  try {
    await answered(route.free, { ms: LEFT_TURN_MS, clock, gone: server.gone });
  } catch (error) {
    throw unavailable(
      'codex: codex is still running the last turn of this session: try again when all other codex sessions are idle, ' +
        'because cadre then restarts codex',
      error,
    );
  }
}

/** Begins a thread: as a fork, if codex can fork the other thread at this point. Rejects as `AppServer.ask`. */
export async function beginThread(
  server: AppServer,
  params: object,
  fork: ForkPoint | null,
  sink: AgentSink,
): Promise<{ opened: unknown; isForked: boolean }> {
  const ask: Ask = (method, more) => server.ask(method, more);
  const forked = fork && (await forkThread(ask, params, fork, sink));
  const opened = forked ?? (await ask('thread/start', params));
  return { opened, isForked: forked !== null };
}

/** Resolves with the answer of codex; null if codex cannot fork the thread at this point. */
async function forkThread(
  ask: Ask,
  params: object,
  { ref, turnRef }: ForkPoint,
  sink: AgentSink,
): Promise<object | null> {
  const at = turnRef === null ? {} : { lastTurnId: turnRef };
  try {
    const asked = { ...params, threadId: ref, ...at, excludeTurns: true };
    const answer = (await ask('thread/fork', asked)) as object;
    const threadId = fieldOf(fieldOf(answer, 'thread'), 'id');
    if (turnRef === null || (await lastTurnOf(ask, threadId)) === turnRef) return answer;
    await ask('thread/unsubscribe', { threadId });
    await reportNoFork(sink, 'this version of codex does not fork a thread at a turn');
  } catch (error) {
    if (!isRefusal(error, /./)) throw error;
    await reportNoFork(sink, (error as Error).message);
  }
  return null;
}

/** Older versions of codex ignore the turn, and fork the whole thread. */
async function lastTurnOf(ask: Ask, threadId: unknown): Promise<unknown> {
  const query = { threadId, sortDirection: 'desc', itemsView: 'summary', limit: 1 };
  for await (const turn of entriesOf(ask, 'thread/turns/list', query)) return fieldOf(turn, 'id');
  return null;
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

const PAGE = 50;
const MAX_LOCKS = 4 * 1024 * 1024;

interface Settings extends OwnProgram {
  ask: (method: string, params: object, signal: AbortSignal) => Promise<unknown>;
}

/** The threads of codex. Its app-server reads them without a lock, also while another process writes. */
export class CodexConversations implements Conversations {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  async list(
    { cwd, limit }: ConversationQuery,
    signal: AbortSignal,
  ): Promise<StoredConversation[]> {
    const found: StoredConversation[] = [];
    const params = { ...threadKinds, limit: 100, sortKey: 'updated_at', ...(cwd ? { cwd } : {}) };
    for await (const thread of entriesOf(this.#asking(signal), 'thread/list', params)) {
      const one = isOwnThread(thread) ? await conversationOf(thread) : null;
      if (one) found.push(one);
      if (found.length >= limit) break;
    }
    return found;
  }

  async find(ref: string, signal: AbortSignal): Promise<StoredConversation | null> {
    try {
      const answer = await this.#settings.ask('thread/read', { threadId: ref }, signal);
      return await conversationOf(fieldOf(answer, 'thread'));
    } catch (error) {
      if (isGone(error)) return null;
      throw error;
    }
  }

  async turns(ref: string, { after, max }: TurnQuery, signal: AbortSignal): Promise<StoredTurns> {
    const collector = new TurnCollector(max);
    const query = { threadId: ref, sortDirection: 'desc', itemsView: 'full', limit: PAGE };
    let newest: ConversationMark | null = null;
    let omitted = 0;
    for await (const raw of entriesOf(this.#asking(signal), 'thread/turns/list', query)) {
      const turn = turnOf(raw);
      if (!turn) continue;
      newest ??= { ref: turn.ref, occurredAt: turn.occurredAt };
      if (isBefore(turn, after)) break;
      if (omitted > 0 || !collector.add(turn)) omitted++;
    }
    return { turns: collector.turns, omitted, newest };
  }

  /** Reads the writer locks. The lock files are not opened, because that could create them. */
  async holders(): Promise<(ref: string) => ConversationProcess | null> {
    const directory = path.join(this.#settings.home(), 'thread-writer-locks');
    const names = await fs.readdir(directory).catch(() => []);
    const table = hasProc && names.length > 0 ? await readLocks() : new Map<string, number>();
    const holders = new Map<string, ConversationProcess>();
    for (const name of names) {
      const stats = await fs.lstat(path.join(directory, name)).catch(() => null);
      const pid = stats ? table.get(String(stats.ino)) : undefined;
      if (pid === undefined || this.#settings.owns(pid)) continue;
      holders.set(name.replace(/\.lock$/, ''), { pid, program: 'codex', status: null });
    }
    return (ref) => holders.get(ref) ?? null;
  }

  command(ref: string): string[] {
    return [...this.#settings.program(), 'resume', ref];
  }

  #asking(signal: AbortSignal): Ask {
    return (method, params) => this.#settings.ask(method, params, signal);
  }
}

function isBefore(turn: StoredTurn, mark: ConversationMark | null): boolean {
  if (mark === null) return false;
  return turn.ref === mark.ref || (turn.occurredAt ?? Infinity) < (mark.occurredAt ?? 0);
}

/** Whether a thread is a conversation of a user, and not of a subagent. */
function isOwnThread(thread: unknown): boolean {
  return fieldOf(thread, 'ephemeral') !== true && !fieldOf(thread, 'parentThreadId');
}

async function conversationOf(thread: unknown): Promise<StoredConversation | null> {
  const [ref, cwd, file] = ['id', 'cwd', 'path'].map((name) => fieldOf(thread, name));
  if (typeof ref !== 'string') return null;
  const stats = typeof file === 'string' ? await fs.lstat(file).catch(() => null) : null;
  if (typeof file === 'string' && stats === null) return null;
  return {
    ref,
    title: storedTitle(fieldOf(thread, 'name')) ?? storedTitle(fieldOf(thread, 'preview')),
    cwd: typeof cwd === 'string' && cwd.length <= 4096 ? cwd : null,
    program: storedTitle(fieldOf(thread, 'originator') ?? fieldOf(thread, 'source')),
    branch: storedTitle(fieldOf(fieldOf(thread, 'gitInfo'), 'branch')),
    begunAt: millisecondsOf(fieldOf(thread, 'createdAt')),
    changedAt: millisecondsOf(fieldOf(thread, 'updatedAt')) ?? 0,
    bytes: stats?.size ?? null,
  };
}

const ended = z.enum(['completed', 'interrupted', 'failed', 'unknown']).catch('unknown');

function turnOf(raw: unknown): StoredTurn | null {
  const ref = fieldOf(raw, 'id');
  if (typeof ref !== 'string') return null;
  const items = anyList.parse(new MessageBudget().bounded(fieldOf(raw, 'items')));
  return {
    ref,
    program: 'codex',
    status: ended.parse(fieldOf(raw, 'status')),
    prompt: items.map(promptIn).filter(Boolean).join('\n'),
    items: items.flatMap(itemsIn),
    occurredAt: millisecondsOf(fieldOf(raw, 'startedAt')),
  };
}

function promptIn(item: unknown): string {
  if (fieldOf(item, 'type') !== 'userMessage') return '';
  const texts = anyList.parse(fieldOf(item, 'content')).map((part) => {
    const text = fieldOf(part, 'text');
    return typeof text === 'string' ? text : '[image]';
  });
  return texts.join('\n');
}

/** Reads an item as a live one. */
function itemsIn(item: unknown): StoredItem[] {
  const updates = new Reader().read('item/completed', { item });
  if (updates === 'unknown') return [];
  return updates.flatMap((update): StoredItem[] => {
    switch (update.type) {
      case 'message':
      case 'reasoning':
        return [{ kind: update.type, status: 'completed', title: null, text: update.text }];
      case 'tool': {
        const { title = '', status, output = '' } = update.change;
        const isKnown = status === 'completed' || status === 'failed';
        return [{ kind: 'tool', status: isKnown ? status : 'unknown', title, text: output }];
      }
      default:
        return [];
    }
  });
}

function millisecondsOf(seconds: unknown): number | null {
  return typeof seconds === 'number' && Number.isFinite(seconds)
    ? Math.trunc(seconds * 1000)
    : null;
}

/** The process of each write lock, by the inode of its file. */
async function readLocks(): Promise<Map<string, number>> {
  const bytes = await readForeignFile('/proc', 'locks', { maxBytes: MAX_LOCKS }).catch(() => null);
  const text = bytes?.toString('utf8') ?? '';
  const found = new Map<string, number>();
  for (const line of text.split('\n')) {
    // A process that waits for a lock has an arrow in front.
    const [, pid, inode] = /^\d+: FLOCK\s+\S+\s+WRITE\s+(\d+)\s+\S+:(\d+)\s/.exec(line) ?? [];
    if (pid !== undefined && inode !== undefined) found.set(inode, Number(pid));
  }
  return found;
}
