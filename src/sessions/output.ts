import { isDeepStrictEqual } from 'node:util';
import type { EventKind } from '../api/events.ts';
import type { Item, Usage } from '../api/sessions.ts';
import type { EventLog } from '../events/log.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { AgentUpdate, ToolChange } from '../providers/provider.ts';
import type { Database } from '../store/database.ts';
import type { Writer } from '../store/transaction.ts';
import type { SessionStore } from './store.ts';
import { noUsage } from './turn.ts';

/** Text after the first delta of an item is joined for at most this long, in ms, and up to this many bytes. */
const JOIN_MS = 40;
const JOIN_BYTES = 8 * 1024;
/** The most characters of one delta: however JSON escapes them, they fit into the payload of an event. */
const MAX_DELTA_CHARACTERS = 32 * 1024;
/** The agent has to wait while this many writes are on their way to the disk. */
const MAX_PENDING_WRITES = 32;

type SpeechItem = {
  kind: 'message' | 'reasoning';
  item: Item;
  ref: string | undefined;
  waiting: string;
  bytes: number;
};

/** The open items of a turn, and what it has said and used so far. */
interface Memory {
  speech: SpeechItem | undefined;
  tools: Map<string, { item: Item; status: string }>;
  lastMessage: string | null;
  usage: Usage | null;
}

interface TurnOutputDependencies {
  db: Database;
  log: EventLog;
  store: SessionStore;
  clock: Clock;
  ids: Ids;
  place: { session_id: string; turn_id: string | null };
  /** The cost of the session before this turn: agents report the sum. */
  costBefore: number | null;
  /** Called where a write failed: the turn cannot go on as if it had been stored. */
  onError: (error: unknown) => void;
  /** Runs in the transaction in which a tool ends before its turn does. */
  onToolEnded: (tx: Writer) => void;
}

/**
 * Writes what the agent says and does in one turn, as it comes. The first delta of an item is stored at once, later ones
 * are joined; every other event of the turn writes the joined text first, so the log keeps the agent's order.
 *
 * Its memory changes inside transactions, before they are on disk. So after a failed write it is `broken`, and its open
 * items are closed from the stored rows instead.
 */
export class TurnOutput {
  readonly #given: TurnOutputDependencies;
  #speech: SpeechItem | undefined;
  #tools = new Map<string, { item: Item; status: string }>();
  readonly #closedTools = new Set<string>();
  #timer: Disposable | undefined;
  #pending = 0;
  #room: PromiseWithResolvers<void> | undefined;
  #closed = false;
  #broken = false;
  #lastMessage: string | null = null;
  #usage: Usage | null = null;
  #costBefore: number;

  constructor(given: TurnOutputDependencies) {
    this.#given = given;
    this.#costBefore = given.costBefore ?? 0;
  }

  /** Whether a write failed: then memory and rows differ. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Writes an update. Returns a promise where too many writes are pending: the agent waits for it. */
  take(update: AgentUpdate): Promise<void> | undefined {
    if (this.#closed) return undefined;
    switch (update.type) {
      case 'message':
      case 'reasoning':
        this.#say(update.type, update.text, update.ref);
        break;
      case 'tool':
        this.#useTool(update.ref, update.change);
        break;
      case 'plan':
        this.#write((tx) => this.#event(tx, 'plan.updated', { entries: update.entries }));
        break;
      case 'usage':
        this.#count(update.usage);
        break;
    }
    if (this.#pending < MAX_PENDING_WRITES) return undefined;
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  /**
   * Closes every open item, in the transaction that ends the turn; returns the last message and the usage. A tool that
   * has not ended gets the status of the turn. Where the transaction is lost, the turn goes on as if its end had not
   * been tried.
   */
  close(
    tx: Writer,
    status: Item['status'],
    usage?: Partial<Usage>,
  ): { text: string | null; usage: Usage | null } {
    const before = this.#memory();
    tx.whenLost(() => this.#reopen(before));
    this.#closed = true;
    this.#timer?.[Symbol.dispose]();
    this.#room?.resolve();
    if (!this.#broken) {
      this.#writeWaiting(tx);
      this.#closeSpeech(tx, status);
      for (const { item } of this.#tools.values()) this.#closeItem(tx, item, status);
      this.#tools.clear();
    }
    if (usage) this.#usage = mergeUsage(this.#usage, usage);
    return { text: this.#lastMessage, usage: this.#usage };
  }

  #memory(): Memory {
    return {
      speech: this.#speech && { ...this.#speech },
      tools: new Map(this.#tools),
      lastMessage: this.#lastMessage,
      usage: this.#usage,
    };
  }

  #reopen({ speech, tools, lastMessage, usage }: Memory): void {
    this.#closed = false;
    this.#speech = speech;
    this.#tools = tools;
    this.#lastMessage = lastMessage;
    this.#usage = usage;
  }

  #say(kind: 'message' | 'reasoning', text: string, ref: string | undefined): void {
    if (text === '') return;
    const speech = this.#speech;
    const continues =
      speech?.kind === kind &&
      (speech.ref === ref || ref === undefined || speech.ref === undefined);
    if (!speech || !continues) {
      this.#write((tx) => {
        this.#closeSpeech(tx, 'completed');
        const item = this.#newItem(kind, null);
        this.#given.store.items.insert(tx, item);
        this.#speech = { kind, item, ref, waiting: text, bytes: 0 };
        this.#writeWaiting(tx);
      });
      return;
    }
    speech.waiting += text;
    if (Buffer.byteLength(speech.waiting) >= JOIN_BYTES) this.#write(() => undefined);
    else this.#timer ??= this.#given.clock.after(JOIN_MS, () => this.#write(() => undefined));
  }

  #useTool(ref: string, change: ToolChange): void {
    // The tool has ended already: by the agent's word, or because it was declined.
    if (this.#closedTools.has(ref)) return;
    this.#write((tx) => {
      const known = this.#tools.get(ref);
      const before =
        known?.item ??
        this.#newItem('tool', { call_ref: ref, title: ref, kind: 'other', input: null });
      const after = changedTool(before, change);
      const status = change.status ?? known?.status ?? 'pending';
      if (!known) {
        this.#closeSpeech(tx, 'completed');
        this.#given.store.items.insert(tx, after);
        this.#event(tx, 'tool.started', {
          item_id: after.item_id,
          offset: 0,
          tool: after.tool,
          status,
        });
      }
      if (status === 'completed' || status === 'failed') {
        this.#tools.delete(ref);
        this.#closedTools.add(ref);
        this.#closeItem(tx, after, status);
        this.#given.onToolEnded(tx);
        return;
      }
      this.#tools.set(ref, { item: after, status });
      const isNews = status !== known?.status || !isDeepStrictEqual(before, after);
      if (known && isNews) this.#appendToolChange(tx, before, after, status);
    });
  }

  /** Appends the change of a tool; of an output that grew, only the new end. The item is written when it closes. */
  #appendToolChange(tx: Writer, before: Item, after: Item, status: string): void {
    const grew = after.text.startsWith(before.text);
    let offset = grew ? Buffer.byteLength(before.text) : 0;
    const pieces = inPieces(grew ? after.text.slice(before.text.length) : after.text);
    for (const text of pieces.length > 0 ? pieces : ['']) {
      this.#event(tx, 'tool.updated', {
        item_id: after.item_id,
        offset,
        text,
        tool: after.tool,
        status,
      });
      offset += Buffer.byteLength(text);
    }
  }

  #count(reported: Partial<Usage>): void {
    const { cost_usd: cost, ...rest } = reported;
    const own = typeof cost === 'number' ? { cost_usd: Math.max(0, cost - this.#costBefore) } : {};
    this.#usage = mergeUsage(this.#usage, { ...rest, ...own });
    const usage = this.#usage;
    this.#write((tx) => this.#event(tx, 'usage.updated', { usage }));
  }

  /** Runs one transaction: first the joined text, then `change`. Calls `onError` where it fails. */
  #write(change: (tx: Writer) => void): void {
    if (this.#closed) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#pending++;
    this.#given.db
      .transact((tx) => {
        this.#writeWaiting(tx);
        change(tx);
      })
      .catch((error: unknown) => {
        this.#broken = true;
        this.#given.onError(error);
      })
      .finally(() => {
        this.#pending--;
        if (this.#pending >= MAX_PENDING_WRITES) return;
        this.#room?.resolve();
        this.#room = undefined;
      });
  }

  /** Writes the joined text of the item that is being said. */
  #writeWaiting(tx: Writer): void {
    const speech = this.#speech;
    if (!speech) return;
    const text = wholeCharacters(speech.waiting, this.#closed);
    speech.waiting = speech.waiting.slice(text.length);
    for (const piece of inPieces(text)) {
      this.#event(tx, `${speech.kind}.delta`, {
        item_id: speech.item.item_id,
        offset: speech.bytes,
        text: piece,
      });
      speech.bytes += Buffer.byteLength(piece);
      speech.item = { ...speech.item, text: speech.item.text + piece };
    }
  }

  #closeSpeech(tx: Writer, status: Item['status']): void {
    const speech = this.#speech;
    if (!speech) return;
    this.#speech = undefined;
    if (speech.kind === 'message') this.#lastMessage = speech.item.text + speech.waiting;
    this.#closeItem(tx, { ...speech.item, text: speech.item.text + speech.waiting }, status);
  }

  #closeItem(tx: Writer, item: Item, status: Item['status']): void {
    const closed = { ...item, status, completed_at: this.#given.clock.now() };
    this.#given.store.items.update(tx, closed);
    this.#event(tx, `${item.kind}.completed`, closedPayload(closed));
    this.#given.log.settleItem(tx, item.item_id);
  }

  #newItem(kind: Item['kind'], tool: Item['tool']): Item {
    return {
      item_id: this.#given.ids.next('item'),
      ...this.#given.place,
      kind,
      status: 'open',
      text: '',
      tool,
      created_at: this.#given.clock.now(),
      completed_at: null,
    };
  }

  #event(tx: Writer, kind: EventKind, payload: Record<string, unknown>): void {
    this.#given.log.append(tx, { kind, ...this.#given.place, payload });
  }
}

/**
 * Closes items from their stored rows and deltas, in the transaction that ends their turn: where the server died, or
 * where the disk refused a write.
 */
export function closeStoredItems(
  tx: Writer,
  items: readonly Item[],
  status: Item['status'],
  given: { log: EventLog; store: SessionStore; clock: Clock },
): void {
  const { log, store, clock } = given;
  for (const item of items) {
    let { text, tool } = item;
    for (const { payload } of log.deltasOf(tx, item.item_id)) {
      // A delta with offset 0 replaces the text before it.
      text = payload.offset === 0 ? String(payload.text) : text + String(payload.text);
      if (payload.tool && !payload.truncated) tool = payload.tool as Item['tool'];
    }
    const closed: Item = { ...item, text, tool, status, completed_at: clock.now() };
    const { session_id, turn_id } = item;
    store.items.update(tx, closed);
    log.append(tx, {
      kind: `${item.kind}.completed`,
      session_id,
      turn_id,
      payload: closedPayload(closed),
    });
    log.settleItem(tx, item.item_id);
  }
}

function closedPayload({ item_id, status, text, tool }: Item): Record<string, unknown> {
  return { item_id, offset: 0, status, text, ...(tool ? { tool } : {}) };
}

function changedTool(item: Item, change: ToolChange): Item {
  const tool = { ...item.tool } as NonNullable<Item['tool']>;
  if (change.title !== undefined) tool.title = change.title;
  if (change.kind !== undefined) tool.kind = change.kind;
  if (change.input !== undefined) tool.input = change.input;
  return { ...item, tool, text: change.output ?? item.text };
}

function mergeUsage(before: Usage | null, news: Partial<Usage>): Usage {
  return { ...(before ?? noUsage), ...news };
}

/** Splits a text into parts that fit into a delta, without splitting a character. */
function inPieces(text: string): string[] {
  const pieces: string[] = [];
  for (let rest = text; rest !== '';) {
    const piece = wholeCharacters(
      rest.slice(0, MAX_DELTA_CHARACTERS),
      rest.length <= MAX_DELTA_CHARACTERS,
    );
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return pieces;
}

/** The text without a high surrogate at its end, whose low surrogate may follow; with `isEnd`, all of the text. */
function wholeCharacters(text: string, isEnd: boolean): string {
  const last = text.charCodeAt(text.length - 1);
  return !isEnd && last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}
