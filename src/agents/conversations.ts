import type { ConversationProcess } from '../api/conversations.ts';
import type { Session } from '../api/sessions.ts';
import { firstLine } from '../core/lib/cut-line.ts';
import { oneLine, plain } from '../core/lib/plain.ts';

/** A conversation that the agent's own program stores. Times are in Unix ms. */
export interface StoredConversation {
  ref: string;
  title: string | null;
  cwd: string | null;
  program: string | null;
  branch: string | null;
  begunAt: number | null;
  changedAt: number;
  bytes: number | null;
}

export interface StoredItem {
  kind: 'message' | 'reasoning' | 'tool';
  status: 'completed' | 'failed' | 'unknown';
  title: string | null;
  text: string;
}

export interface StoredTurn {
  ref: string;
  program: string | null;
  status: 'completed' | 'interrupted' | 'failed' | 'unknown';
  prompt: string;
  items: StoredItem[];
  /** Unix ms; null if the program does not say. */
  occurredAt: number | null;
}

/** The newest turn of a conversation when it was read. */
export interface ConversationMark {
  ref: string;
  occurredAt: number | null;
}

/** The newest turns of a conversation, oldest first. */
export interface StoredTurns {
  turns: StoredTurn[];
  /** The number of turns after the mark that were not read. */
  omitted: number;
  newest: ConversationMark | null;
}

export interface ConversationQuery {
  /** Null: conversations of all directories. */
  cwd: string | null;
  limit: number;
}

export interface TurnQuery {
  after: ConversationMark | null;
  max: number;
  /** The directory of the conversation. Null or absent if unknown. */
  cwd?: string | null;
}

/** The point of a conversation at which a new session forks the conversation. */
export interface ForkPoint {
  /** The provider's own name for the conversation. */
  ref: string;
  /** The agent's own id of the last turn of the fork. Null: the fork has all turns. */
  turnRef: string | null;
}

/** The program of an agent on this machine. */
export interface OwnProgram {
  /** Returns the directory with its state. */
  home: () => string;
  /** Returns the words that start the program. */
  program: () => string[];
  /** Whether a process belongs to this server. */
  owns: (pid: number) => boolean;
}

/** Conversations that the agent's own program stores. Each method throws ProviderError if they cannot be read. */
export interface Conversations {
  /** Whether each call starts an agent. The turns are then not read while the session itself has an agent. */
  readonly startsAgent?: boolean;
  /** Returns up to `limit` conversations, most recently changed first. */
  list(query: ConversationQuery, signal: AbortSignal): Promise<StoredConversation[]>;
  find(ref: string, signal: AbortSignal): Promise<StoredConversation | null>;
  /** Reads up to `max` turns after a mark; null: after the beginning. */
  turns(ref: string, query: TurnQuery, signal: AbortSignal): Promise<StoredTurns>;
  /** Returns a lookup of the processes that have conversations open, without the processes of this server. */
  holders(): Promise<(ref: string) => ConversationProcess | null>;
  /** Returns the command by which the program continues a conversation; empty if that is not known. */
  command(ref: string): string[];
}

/** The longest text of an item or a prompt, and of all texts of one turn, in UTF-16 code units. */
const MAX_TEXT = 16_384;
const MAX_TURN_TEXT = 128 * 1024;
const MAX_ITEMS = 500;
const MAX_TITLE = 200;
/** The size of all turns that one call reads, in bytes of JSON. */
const MAX_BYTES = 4 * 1024 * 1024;

/** A title for people: one line without control characters. */
export function storedTitle(title: unknown): string | null {
  return typeof title === 'string' ? firstLine(oneLine(title.slice(0, 4000)), MAX_TITLE) : null;
}

/** Returns a turn within the limits, without control characters. Messages have room before tools, and new items before old ones. */
export function boundedTurn(turn: StoredTurn): StoredTurn {
  let room = MAX_TURN_TEXT;
  const cut = (text: string): string => {
    const length = Math.min(MAX_TEXT, room);
    const shown = plain(text.slice(0, length));
    room -= shown.length;
    return text.length > length ? `${shown} … [cut]` : shown;
  };
  const prompt = cut(turn.prompt);
  const items = turn.items.slice(-MAX_ITEMS);
  const weightOf = ({ kind }: StoredItem) => Number(kind === 'message');
  const byWeight = items.toReversed().toSorted((a, b) => weightOf(b) - weightOf(a));
  const texts = new Map(byWeight.map((item) => [item, cut(item.text)]));
  return {
    ...turn,
    prompt,
    items: items.map((item) => ({
      ...item,
      title: item.title === null ? null : (storedTitle(item.title) ?? ''),
      text: texts.get(item) ?? '',
    })),
  };
}

/** Selects the turns after a mark. If the mark is gone, for example after a rewind, its time decides. */
export function turnsAfter<T extends ConversationMark>(
  turns: readonly T[],
  after: ConversationMark | null,
): readonly T[] {
  if (after === null) return turns;
  const at = turns.findIndex(({ ref }) => ref === after.ref);
  if (at >= 0) return turns.slice(at + 1);
  return turns.filter(({ occurredAt }) => (occurredAt ?? 0) > (after.occurredAt ?? 0));
}

/** Collects turns from the newest to the oldest until the limits are reached. */
export class TurnCollector {
  readonly #newestFirst: StoredTurn[] = [];
  readonly #max: number;
  #room = MAX_BYTES;

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#newestFirst.length >= this.#max;
  }

  /** Adds the turn before all turns so far; false if it does not fit. */
  add(turn: StoredTurn): boolean {
    const bounded = boundedTurn(turn);
    const bytes = Buffer.byteLength(JSON.stringify(bounded));
    if (this.isFull || bytes > this.#room) return false;
    this.#room -= bytes;
    this.#newestFirst.push(bounded);
    return true;
  }

  get turns(): StoredTurn[] {
    return this.#newestFirst.toReversed();
  }
}

/** Whether a session would lose a conversation if it started with an empty one. */
export function hasContent({ usage, imported }: Pick<Session, 'usage' | 'imported'>): boolean {
  return Boolean(usage?.output_tokens) || Boolean(imported);
}
