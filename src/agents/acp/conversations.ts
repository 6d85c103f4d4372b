import { createHash } from 'node:crypto';
import { MessageBudget } from '../budget.ts';
import {
  boundedTurn,
  type ConversationMark,
  type ConversationQuery,
  type Conversations,
  type StoredConversation,
  type StoredItem,
  storedTitle,
  type StoredTurn,
  type StoredTurns,
  TurnCollector,
  type TurnQuery,
  turnsAfter,
} from '../conversations.ts';
import { fieldOf } from '../lenient.ts';
import { type AgentUpdate, unavailable } from '../provider.ts';
import type { AcpAgent } from './agent.ts';
import type { AcpProcess, AgentAbilities } from './process.ts';
import { type ListedSession, listedSessions } from './reopen.ts';
import { readChunk, readUpdate } from './updates.ts';

/** So many conversations are remembered for the requests that follow a list. */
const MAX_REMEMBERED = 5000;
/** For so long after a list, in ms, its conversations are found without asking the agent again. */
const FRESH_MS = 60_000;

interface Remembered {
  found: StoredConversation;
  /** The directory of the list; null: all directories. */
  listedIn: string | null;
  /** The monotonic time of the list, in ms. */
  at: number;
}

interface AcpConversationsDeps {
  program: () => string;
  /** Returns the command that continues a conversation in the agent's own program; empty if it is not known. */
  command: (ref: string) => string[];
  /** Returns the monotonic time, in ms. */
  now: () => number;
  /** Starts an agent for a question alone, and ends it. `cwd`: null: the directory of the server. */
  ask: <T>(
    what: string,
    cwd: string | null,
    signal: AbortSignal,
    question: (agent: AcpAgent) => Promise<T>,
  ) => Promise<T>;
}

/** The conversations that an agent lists and replays over the protocol. Each call starts an agent. */
export class AcpConversations implements Conversations {
  readonly startsAgent = true;
  readonly #deps: AcpConversationsDeps;
  readonly #remembered = new Map<string, Remembered>();

  constructor(deps: AcpConversationsDeps) {
    this.#deps = deps;
  }

  /** An agent that does not offer its conversations has none here. */
  async list(
    { cwd, limit }: ConversationQuery,
    signal: AbortSignal,
  ): Promise<StoredConversation[]> {
    const found = await this.#listed(cwd, signal, ({ can }) => missingIn(can) === null);
    return found.slice(0, limit);
  }

  async find(ref: string, signal: AbortSignal): Promise<StoredConversation | null> {
    const known = this.#remembered.get(ref);
    if (known && this.#deps.now() - known.at < FRESH_MS) return known.found;
    // Some agents list only the conversations of one directory.
    const all = await this.#listed(known?.listedIn ?? null, signal, assertOffered);
    const found = all.find((one) => one.ref === ref) ?? null;
    if (!found) this.#remembered.delete(ref);
    return found;
  }

  async #listed(
    cwd: string | null,
    signal: AbortSignal,
    isOffered: (process: AcpProcess) => boolean,
  ): Promise<StoredConversation[]> {
    const ask = async ({ process }: AcpAgent) =>
      isOffered(process) ? listedSessions(process, cwd === null ? {} : { cwd }) : [];
    const listed = await this.#deps.ask('started to list its conversations', null, signal, ask);
    if (!listed) throw unavailable('acp: the list of sessions of the agent cannot be read');
    if (this.#remembered.size > MAX_REMEMBERED) this.#remembered.clear();
    const found = listed
      .map((one) => this.#conversationOf(one))
      // Some agents ignore the directory.
      .filter((one) => cwd === null || one.cwd === null || one.cwd === cwd)
      .toSorted((a, b) => b.changedAt - a.changedAt);
    const about = { listedIn: cwd, at: this.#deps.now() };
    for (const one of found) this.#remembered.set(one.ref, { found: one, ...about });
    return found;
  }

  turns(ref: string, { after, max, cwd }: TurnQuery, signal: AbortSignal): Promise<StoredTurns> {
    const directory = cwd ?? this.#remembered.get(ref)?.found.cwd ?? null;
    return this.#deps.ask('started to read a conversation', directory, signal, async (agent) => {
      assertOffered(agent.process);
      const replayed = new ReplayedTurns(this.#deps.program(), max);
      await agent.resume(ref, null, (update) => replayed.add(update));
      return replayed.after(after);
    });
  }

  /** The protocol does not say which process has a conversation open. */
  async holders(): Promise<() => null> {
    return () => null;
  }

  /** The protocol does not name the command. */
  command(ref: string): string[] {
    return this.#deps.command(ref);
  }

  #conversationOf({ sessionId, cwd, title, updatedAt }: ListedSession): StoredConversation {
    const changedAt = Date.parse(updatedAt ?? '');
    return {
      ref: sessionId,
      title: storedTitle(title),
      cwd,
      program: this.#deps.program(),
      branch: null,
      begunAt: null,
      changedAt: Number.isFinite(changedAt) ? Math.max(0, changedAt) : 0,
      bytes: null,
    };
  }
}

/** Returns the methods that an agent does not announce; null if it offers its conversations. */
function missingIn({ list, load }: AgentAbilities): string | null {
  const missing = [...(list ? [] : ['session/list']), ...(load ? [] : ['session/load'])];
  return missing.length === 0 ? null : missing.join(' and no ');
}

/** Throws {@link ProviderError} unless the agent announces that it lists and loads sessions. */
function assertOffered({ can }: AcpProcess): true {
  const missing = missingIn(can);
  if (missing === null) return true;
  throw unavailable(`acp: the agent does not offer its conversations: it has no ${missing}`);
}

/** A text of a turn is not collected beyond this length, in UTF-16 code units. Stored texts are shorter. */
const MAX_COLLECTED = 32_768;
/** The oldest items of a turn with more items are dropped. */
const MAX_ITEMS = 1000;

type TextUpdate = Extract<AgentUpdate, { type: 'message' | 'reasoning' }>;
type Tool = Extract<AgentUpdate, { type: 'tool' }>;

interface OpenTurn {
  /** The agent's own id of the prompt. Null if the agent has none. */
  promptId: string | null;
  prompt: string;
  /** `ref`: the agent's own id of the message or tool call. */
  items: (StoredItem & { ref: string | undefined })[];
}

/** The turns of a conversation that an agent replays, without times, because the replay has none. */
export class ReplayedTurns {
  readonly #program: string;
  /** The number of newest turns whose texts are kept. */
  readonly #max: number;
  /** All turns, oldest first. */
  readonly #marks: ConversationMark[] = [];
  readonly #kept: StoredTurn[] = [];
  /** The number of turns with the same prompt, by its id or its digest. */
  readonly #counts = new Map<string, number>();
  #open: OpenTurn | null = null;

  constructor(program: string, max: number) {
    this.#program = program;
    this.#max = max;
  }

  /** Adds a `session/update` of the replay. Output before the first prompt belongs to no turn. */
  add(raw: unknown): void {
    const budget = new MessageBudget();
    const update = budget.bounded(raw);
    if (fieldOf(update, 'sessionUpdate') === 'user_message_chunk') this.#addPrompt(update);
    const read = readUpdate(update, budget);
    if (!this.#open || typeof read === 'string') return;
    const { items } = this.#open;
    if (read.type === 'message' || read.type === 'reasoning') addText(items, read);
    if (read.type === 'tool') addTool(items, read);
    if (items.length > MAX_ITEMS) items.shift();
  }

  /** Returns the newest turns after a mark, once the replay has ended. */
  after(mark: ConversationMark | null): StoredTurns {
    this.#end();
    const found = turnsAfter(this.#marks, mark);
    const wanted = new Set(found.map(({ ref }) => ref));
    const collector = new TurnCollector(this.#max);
    for (const turn of this.#kept.toReversed())
      if (!wanted.has(turn.ref) || !collector.add(turn)) break;
    const { turns } = collector;
    return { turns, omitted: found.length - turns.length, newest: this.#marks.at(-1) ?? null };
  }

  #addPrompt(update: unknown): void {
    const chunk = readChunk(update, 'message');
    if (typeof chunk === 'string' || chunk.type !== 'message') return;
    const isImage = fieldOf(fieldOf(update, 'content'), 'type') === 'image';
    const text = isImage ? '[image]' : chunk.text;
    const promptId = chunk.ref ?? null;
    const open = this.#open;
    if (open && open.items.length === 0 && open.promptId === promptId) {
      if (open.prompt.length < MAX_COLLECTED) open.prompt += text;
      return;
    }
    this.#end();
    this.#open = { promptId, prompt: text, items: [] };
  }

  #end(): void {
    if (!this.#open) return;
    const { promptId, prompt, items } = this.#open;
    this.#open = null;
    const ref = this.#refOf(promptId, prompt);
    this.#marks.push({ ref, occurredAt: null });
    this.#kept.push(
      boundedTurn({
        ref,
        program: this.#program,
        status: 'unknown',
        prompt,
        items: items.map(({ ref: _ref, ...item }) => item),
        occurredAt: null,
      }),
    );
    if (this.#kept.length > this.#max) this.#kept.shift();
  }

  /**
   * Returns an id that another replay gives to the same turn, also if it leaves out older turns with other prompts. Some
   * agents give several prompts the same id.
   */
  #refOf(promptId: string | null, prompt: string): string {
    const id = promptId ?? createHash('sha256').update(prompt).digest('hex').slice(0, 32);
    const count = (this.#counts.get(id) ?? 0) + 1;
    this.#counts.set(id, count);
    return promptId !== null && count === 1 ? promptId : `${id}-${count}`;
  }
}

function addText(items: OpenTurn['items'], { type: kind, text, ref }: TextUpdate): void {
  const last = items.at(-1);
  if (last?.kind !== kind || last.ref !== ref)
    items.push({ ref, kind, status: 'completed', title: null, text });
  else if (last.text.length < MAX_COLLECTED) last.text += text;
}

function addTool(items: OpenTurn['items'], { ref, change }: Tool): void {
  let item = items.findLast((one) => one.kind === 'tool' && one.ref === ref);
  if (!item) {
    item = { ref, kind: 'tool', status: 'unknown', title: null, text: '' };
    items.push(item);
  }
  const { status, title, output } = change;
  if (status === 'completed' || status === 'failed') item.status = status;
  item.title = title ?? item.title;
  item.text = output ?? item.text;
}
