import { isDeepStrictEqual } from 'node:util';
import type { Item, Usage } from '../api/sessions.ts';
import type { EventBody } from '../events/event.ts';
import type { EventLog } from '../events/log.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { AgentUpdate, ToolChange } from '../providers/provider.ts';
import type { Database } from '../store/database.ts';
import type { SessionStore } from './store.ts';
import { noUsage } from './turn.ts';

/** Text that follows the first delta of an item waits so long for more, or until there is so much of it. */
const JOIN_MS = 40;
const JOIN_BYTES = 8 * 1024;
/** A delta stays well within what a payload may hold, however its characters are escaped. */
const MAX_DELTA_CHARACTERS = 32 * 1024;
/** So many writes may be on their way to the disk before the agent has to wait. */
const MAX_PENDING_WRITES = 32;

type ClosedItem = Item & { status: ClosedStatus };
type ClosedStatus = Exclude<Item['status'], 'open'>;

type ToolItem = Item & { tool: NonNullable<Item['tool']> };
type ToolStatus = NonNullable<ToolChange['status']>;

interface OpenTool {
  item: ToolItem;
  status: ToolStatus;
}

type SpeechItem = {
  kind: 'message' | 'reasoning';
  item: Item;
  ref: string | undefined;
  waiting: string;
  bytes: number;
};

/** What is open of a turn just now. */
interface Memory {
  speech: SpeechItem | undefined;
  tools: ReadonlyMap<string, OpenTool>;
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
  /** What the session had cost before: agents report the sum. */
  costBefore: number | null;
  /** A write failed: the turn cannot go on as if it had been stored. */
  onError: (error: unknown) => void;
  /** Told in the transaction in which a tool ends before its turn does. */
  onToolEnded: () => void;
}

/**
 * What one turn says and does, written as it comes. The first delta of an item is stored at once, later ones
 * are joined; whatever else happens in the turn writes them first, so the log keeps the agent's order.
 *
 * Its memory runs ahead of the disk inside a transaction, as nothing else's does; so after a failed write it is
 * `broken`, and what it had open is closed from the stored rows instead.
 */
export class TurnOutput {
  readonly #given: TurnOutputDependencies;
  #speech: SpeechItem | undefined;
  #tools = new Map<string, OpenTool>();
  /** What it remembered when it was first closed. */
  #atClose: Memory | undefined;
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

  /** Its end could not be stored, and the turn goes on: it takes up again where it was. */
  reopen(): void {
    if (!this.#atClose) return;
    this.#restore(this.#atClose);
    this.#atClose = undefined;
    this.#closed = false;
  }

  /** A write failed: what it remembers is not what is stored. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Takes an update; a promise where the writer is behind and the agent should wait. */
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
        this.#write(() =>
          this.#event({ kind: 'plan.updated', payload: { entries: update.entries } }),
        );
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
   * Closes every open item. Only inside the transaction that ends the turn; answers what it leaves behind.
   * A tool without an end of its own ends as the turn did.
   */
  close(
    status: ClosedStatus,
    usage?: Partial<Usage>,
  ): { text: string | null; usage: Usage | null } {
    this.#closed = true;
    this.#timer?.[Symbol.dispose]();
    this.#room?.resolve();
    // It may be called again, where the disk refused the first time: it then does the same again.
    this.#atClose ??= this.#memory();
    this.#restore(this.#atClose);
    if (!this.#broken) {
      this.#writeWaiting();
      this.#closeSpeech(status);
      for (const { item } of this.#tools.values()) this.#closeItem(item, status);
      this.#tools.clear();
    }
    if (usage) this.#usage = mergeUsage(this.#usage, usage);
    return { text: this.#lastMessage, usage: this.#usage };
  }

  #memory(): Memory {
    const speech = this.#speech && { ...this.#speech };
    return {
      speech,
      tools: new Map(this.#tools),
      lastMessage: this.#lastMessage,
      usage: this.#usage,
    };
  }

  #restore({ speech, tools, lastMessage, usage }: Memory): void {
    this.#speech = speech && { ...speech };
    this.#tools = new Map(tools);
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
      this.#write(() => {
        this.#closeSpeech('completed');
        const item = this.#newItem(kind, null);
        this.#given.store.items.insert(item);
        this.#speech = { kind, item, ref, waiting: text, bytes: 0 };
        this.#writeWaiting();
      });
      return;
    }
    speech.waiting += text;
    if (Buffer.byteLength(speech.waiting) >= JOIN_BYTES) this.#write(() => undefined);
    else this.#timer ??= this.#given.clock.after(JOIN_MS, () => this.#write(() => undefined));
  }

  #useTool(ref: string, change: ToolChange): void {
    // Its end was told already: by the agent, or by us when it was declined.
    if (this.#closedTools.has(ref)) return;
    this.#write(() => {
      const known = this.#tools.get(ref);
      const before =
        known?.item ??
        this.#newItem('tool', { call_ref: ref, title: ref, kind: 'other', input: null });
      const after = changedTool(before, change);
      const status = change.status ?? known?.status ?? 'pending';
      if (!known) {
        this.#closeSpeech('completed');
        this.#given.store.items.insert(after);
        const { item_id, tool } = after;
        this.#event({ kind: 'tool.started', payload: { item_id, offset: 0, tool, status } });
      }
      if (status === 'completed' || status === 'failed') {
        this.#tools.delete(ref);
        this.#closedTools.add(ref);
        this.#closeItem(after, status);
        this.#given.onToolEnded();
        return;
      }
      this.#tools.set(ref, { item: after, status });
      const isNews = status !== known?.status || !isDeepStrictEqual(before, after);
      if (known && isNews) this.#tellToolChange(before, after, status);
    });
  }

  /** Tells what is new; of an output that grew, only the end. The item itself is written when it closes. */
  #tellToolChange(before: ToolItem, after: ToolItem, status: ToolStatus): void {
    const grew = after.text.startsWith(before.text);
    let offset = grew ? Buffer.byteLength(before.text) : 0;
    const pieces = inPieces(grew ? after.text.slice(before.text.length) : after.text);
    for (const text of pieces.length > 0 ? pieces : ['']) {
      const { item_id, tool } = after;
      this.#event({ kind: 'tool.updated', payload: { item_id, offset, text, tool, status } });
      offset += Buffer.byteLength(text);
    }
  }

  #count(reported: Partial<Usage>): void {
    const { cost_usd: cost, ...rest } = reported;
    const own = typeof cost === 'number' ? { cost_usd: Math.max(0, cost - this.#costBefore) } : {};
    this.#usage = mergeUsage(this.#usage, { ...rest, ...own });
    const usage = this.#usage;
    this.#write(() => this.#event({ kind: 'usage.updated', payload: { usage } }));
  }

  /** One transaction: what was waiting, then `change`. The turn hears of a failure; the agent is held back when many wait. */
  #write(change: () => void): void {
    if (this.#closed) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#pending++;
    this.#given.db
      .transact(() => {
        this.#writeWaiting();
        change();
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
  #writeWaiting(): void {
    const speech = this.#speech;
    if (!speech) return;
    const text = wholeCharacters(speech.waiting, this.#closed);
    speech.waiting = speech.waiting.slice(text.length);
    for (const piece of inPieces(text)) {
      const { item_id } = speech.item;
      this.#event({
        kind: `${speech.kind}.delta`,
        payload: { item_id, offset: speech.bytes, text: piece },
      });
      speech.bytes += Buffer.byteLength(piece);
      speech.item = { ...speech.item, text: speech.item.text + piece };
    }
  }

  #closeSpeech(status: ClosedStatus): void {
    const speech = this.#speech;
    if (!speech) return;
    this.#speech = undefined;
    if (speech.kind === 'message') this.#lastMessage = speech.item.text + speech.waiting;
    this.#closeItem({ ...speech.item, text: speech.item.text + speech.waiting }, status);
  }

  #closeItem(item: Item, status: ClosedStatus): void {
    const closed = { ...item, status, completed_at: this.#given.clock.now() };
    this.#given.store.items.update(closed);
    this.#event(closingEvent(closed));
    this.#given.log.settleItem(item.item_id);
  }

  #newItem<Tool extends Item['tool']>(kind: Item['kind'], tool: Tool): Item & { tool: Tool } {
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

  #event(body: EventBody): void {
    this.#given.log.append({ ...body, ...this.#given.place });
  }
}

/**
 * Closes items from what is stored of them, for a writer that is gone: a server that died, or one whose disk
 * was full. Only inside the transaction that ends their turn.
 */
export function closeStoredItems(
  items: readonly Item[],
  status: ClosedStatus,
  given: { log: EventLog; store: SessionStore; clock: Clock },
): void {
  const { log, store, clock } = given;
  for (const item of items) {
    let { text, tool } = item;
    for (const { kind, payload } of log.deltasOf(item.item_id)) {
      const { offset, text: piece = '' } = payload;
      // A delta says where it belongs: at the front it replaces what was there.
      text = offset === 0 ? piece : text + piece;
      if (kind === 'tool.updated' && !payload.truncated) tool = payload.tool;
    }
    const closed = { ...item, text, tool, status, completed_at: clock.now() };
    const { session_id, turn_id } = item;
    store.items.update(closed);
    log.append({ ...closingEvent(closed), session_id, turn_id });
    log.settleItem(item.item_id);
  }
}

/** The event that closes an item, with its whole text. */
function closingEvent({ item_id, kind, status, text, tool }: ClosedItem): EventBody {
  const payload = { item_id, offset: 0, status, text };
  if (tool) return { kind: 'tool.completed', payload: { ...payload, tool } };
  return { kind: kind === 'message' ? 'message.completed' : 'reasoning.completed', payload };
}

function changedTool(item: ToolItem, change: ToolChange): ToolItem {
  const tool = { ...item.tool };
  if (change.title !== undefined) tool.title = change.title;
  if (change.kind !== undefined) tool.kind = change.kind;
  if (change.input !== undefined) tool.input = change.input;
  return { ...item, tool, text: change.output ?? item.text };
}

function mergeUsage(before: Usage | null, news: Partial<Usage>): Usage {
  return { ...(before ?? noUsage), ...news };
}

/** A text in parts that fit into a delta, none of which splits a character. */
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

/** All of the text but the first half of a character whose second half has not come; at the end, all of it. */
function wholeCharacters(text: string, isEnd: boolean): string {
  const last = text.charCodeAt(text.length - 1);
  return !isEnd && last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}
