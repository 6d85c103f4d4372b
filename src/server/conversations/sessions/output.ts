import { isDeepStrictEqual } from 'node:util';
import type { Item, Usage } from '../../../api/sessions.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { EventBody } from '../../../core/events/event.ts';
import type { AgentUpdate, ToolChange } from '../../../agents/provider.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import {
  type ClosedStatus,
  closingEvent,
  inPieces,
  wholeCharacters,
  changedPieces,
  changedTool,
  type OpenTool,
  someTools,
} from './items.ts';
import { addUsage, mergeUsage, UsageReports } from './known-usage.ts';
import type { SessionStore } from './store.ts';
import type { TurnReadPosition } from './agent-read-positions.ts';
import type { OutputState, SavedOutput, SpeechItem, StoredOutput } from './stored-output.ts';

/** Text waits for an earlier write of its turn, but at most so many bytes of it. */
const BATCH_BYTES = 8 * 1024;
/** Text outside a turn is whole once the agent has been silent for so many ms. */
const SETTLE_MS = 1000;
/** The codes of notices in the words of the agent. */
const AGENT_NOTICES = new Set(['notice', 'warning', 'error', 'compaction']);
/** The number of pending writes from which on the agent has to wait. */
const MAX_PENDING_WRITES = 32;

export type OutputUpdate = Exclude<AgentUpdate, { type: 'title' | 'commands' }>;

interface TurnOutputDeps extends Pick<ServerParts, 'db' | 'log' | 'clock' | 'ids'> {
  store: SessionStore;
  /** The session and turn of the items; a null turn: the agent sends them outside any turn. */
  scope: { session_id: string; turn_id: string | null };
  /** The cost of the session before this turn, in USD. It is subtracted, because agents report the session's total. */
  costBefore: number | null;
  /** Whether the turn had an agent before, whose items are stored already. */
  isAgain?: boolean;
  /** The usage of the turn before its agent was gone; null: it had no agent before. */
  usedBefore?: Usage | null;
  /** Called when a write failed, so that the turn can be failed. */
  onError: (error: unknown) => void;
  /** Runs in the transaction in which a tool ends, unless the turn ends with it. */
  onToolEnded: (tx: Writer) => void;
  /** Runs in the transaction that stores what the turn has used so far. */
  onUsage: (tx: Writer, usage: Usage) => void;
  /** Stores how far the output of the agent is handled. Absent if no other server can continue the turn. */
  reader?: TurnReadPosition | null;
  /** The state of the output of an earlier server that this one continues. */
  stored?: StoredOutput;
}

/**
 * Stores the updates of an agent in one turn. Text is written at once, unless an earlier write of the turn is on its way
 * to the disk: then it is batched and written when that one has arrived, so that a slower disk gets fewer and longer
 * deltas. Every other event of the turn is written after the batched text, so that the log keeps the agent's order.
 *
 * Its state in memory changes inside transactions, before they are on disk. After a failed write it is therefore
 * `broken`, and its open items are closed from the stored rows instead.
 */
export class TurnOutput {
  readonly #deps: TurnOutputDeps;
  #speech: SpeechItem | undefined;
  #tools = new Map<string, OpenTool>();
  readonly #closedTools = new Set<string>();
  /** Outside a turn, closes the text that nothing follows. */
  #settling: Disposable | undefined;
  #pending = 0;
  #room: PromiseWithResolvers<void> | undefined;
  #closed = false;
  #broken = false;
  #lastMessage: string | null = null;
  /** Whether the agent has sent nothing: neither an item, nor a plan or a notice, which no item holds. */
  isSilent = true;
  #usage: Usage | null = null;
  #costBefore: number;
  readonly #reports: UsageReports;
  /** The row of the turn for another server; null if there is none. */
  readonly reader: TurnReadPosition | null;

  constructor(deps: TurnOutputDeps) {
    const { stored } = deps;
    this.#deps = deps;
    this.reader = deps.reader ?? null;
    this.#costBefore = (deps.costBefore ?? 0) + (deps.usedBefore?.cost_usd ?? 0);
    this.#reports = new UsageReports(stored?.saved.outOfRange);
    if (!stored) return;
    this.#restore(stored);
    for (const ref of stored.closedTools) this.#closedTools.add(ref);
    this.isSilent = stored.saved.isSilent;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Whether a write has failed, so that the state in memory and the rows differ. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Whether it has had all items of the turn. */
  get isComplete(): boolean {
    return !this.#broken && this.#deps.isAgain !== true;
  }

  /** Stores an update. If too many writes are pending, returns a promise that the agent has to wait for. */
  accept(update: OutputUpdate): Promise<void> | undefined {
    if (this.#closed) return undefined;
    switch (update.type) {
      case 'message':
      case 'reasoning':
        this.#appendText(update.type, update.text, update.ref);
        break;
      case 'tool':
        this.#changeTool(update.ref, update.change);
        break;
      case 'plan':
        this.isSilent = false;
        this.#write((tx) =>
          this.#event(tx, { kind: 'plan.updated', payload: { entries: update.entries } }),
        );
        break;
      case 'usage':
        this.#mergeUsage(update.usage);
        break;
      case 'declined_unasked':
        this.#write((tx) => this.#deps.store.countDeclined(tx, this.#deps.scope.turn_id));
        break;
      case 'notice': {
        const { code, message } = update;
        this.isSilent &&= !AGENT_NOTICES.has(code);
        this.#write((tx) =>
          this.#event(tx, { kind: 'session.notice', payload: { code, message } }),
        );
        break;
      }
    }
    if (this.#pending < MAX_PENDING_WRITES) return undefined;
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  /** Stores how far the output of the agent is handled, with another change. Returns false if the output has ended. */
  store(change: (tx: Writer) => void = () => undefined): boolean {
    this.#write(change);
    return !this.#closed && !this.#broken;
  }

  /** Stores the batched text in a transaction of another part, such as the approval for a request of the agent. */
  storeText(tx: Writer): void {
    if (this.#closed || this.#broken) return;
    if (this.reader || this.#speech?.waiting)
      tx.whenLost(() => this.#fail(new Error('a write of the turn was lost')));
    this.#writeBatch(tx);
    this.reader?.save(tx, this.#saved);
  }

  get #saved(): SavedOutput {
    return {
      ref: this.#speech?.ref ?? null,
      waiting: this.#speech?.waiting ?? '',
      isSilent: this.isSilent,
      usage: this.#usage,
      usedBefore: this.#deps.usedBefore ?? null,
      outOfRange: this.#reports.save(),
    };
  }

  #fail(error: unknown): void {
    this.#broken = true;
    this.#deps.onError(error);
  }

  /** Closes all open items in the transaction that ends the turn. If that is lost, the state from before is restored. */
  close(
    tx: Writer,
    status: ClosedStatus,
    usage?: Partial<Usage>,
  ): { text: string | null; usage: Usage | null } {
    const before = this.#snapshot();
    tx.whenLost(() => this.#restore(before));
    this.#closed = true;
    this.#settling?.[Symbol.dispose]();
    this.#room?.resolve();
    if (!this.#broken) {
      this.#writeBatch(tx);
      this.#closeSpeech(tx, status);
      for (const { item } of this.#tools.values()) this.#closeItem(tx, item, status);
      this.#tools.clear();
    }
    if (usage) this.#usage = mergeUsage(this.#usage, this.#reports.known(usage));
    this.writeNotices(tx);
    this.reader?.delete(tx);
    return { text: this.#lastMessage, usage: this.#wholeUsage() };
  }

  /** Closes open tools in transactions that keep nobody waiting. The transaction that ends the turn closes the rest. */
  async closeTools(status: ClosedStatus): Promise<void> {
    for (;;) {
      const some = someTools(this.#tools);
      if (some === null || this.#closed || this.#broken) return;
      const isStored = Promise.withResolvers<void>();
      this.#write((tx) => {
        this.#closeSpeech(tx, status);
        for (const [ref, { item }] of some) {
          this.#tools.delete(ref);
          this.#closedTools.add(ref);
          this.#closeItem(tx, item, status);
        }
      }, isStored.resolve);
      await isStored.promise;
    }
  }

  #snapshot(): OutputState {
    return {
      speech: this.#speech && { ...this.#speech },
      tools: new Map(this.#tools),
      lastMessage: this.#lastMessage,
      usage: this.#usage,
    };
  }

  #restore({ speech, tools, lastMessage, usage }: OutputState): void {
    this.#closed = false;
    this.#speech = speech;
    this.#tools = tools;
    this.#lastMessage = lastMessage;
    this.#usage = usage;
  }

  #appendText(kind: 'message' | 'reasoning', text: string, ref: string | undefined): void {
    if (text === '') return;
    this.#settleSoon();
    const speech = this.#speech;
    const continues =
      speech?.kind === kind &&
      (speech.ref === ref || ref === undefined || speech.ref === undefined);
    if (!speech || !continues) {
      this.#write((tx) => {
        this.#closeSpeech(tx, 'completed');
        const item = this.#newItem(kind, null);
        this.#deps.store.items.insert(tx, item);
        this.#speech = { kind, item, ref, waiting: text, bytes: 0 };
        this.#writeBatch(tx);
      });
      return;
    }
    speech.waiting += text;
    if (this.#pending === 0 || Buffer.byteLength(speech.waiting) >= BATCH_BYTES) this.#writeText();
  }

  /** Writes the batched text, if there is a whole character of it. */
  #writeText(): void {
    if (this.#speech && wholeCharacters(this.#speech.waiting, false) !== '')
      this.#write(() => undefined);
  }

  /** Closes the text outside a turn once nothing has followed it for a while: no end of a turn does. */
  #settleSoon(): void {
    if (this.#deps.scope.turn_id !== null) return;
    this.#settling?.[Symbol.dispose]();
    this.#settling = this.#deps.clock.after(SETTLE_MS, () =>
      this.#write((tx) => this.#closeSpeech(tx, 'completed')),
    );
  }

  #changeTool(ref: string, change: ToolChange): void {
    // The tool has ended already: an update said so, or it was declined.
    if (this.#closedTools.has(ref)) return;
    this.#write((tx) => {
      const open = this.#tools.get(ref);
      const before =
        open?.item ??
        this.#newItem('tool', { call_ref: ref, title: ref, kind: 'other', input: null });
      const after = changedTool(before, change);
      const status = change.status ?? open?.status ?? 'pending';
      if (!open) {
        this.#closeSpeech(tx, 'completed');
        this.#deps.store.items.insert(tx, after);
        const { item_id, tool } = after;
        this.#event(tx, { kind: 'tool.started', payload: { item_id, offset: 0, tool, status } });
      }
      if (status === 'completed' || status === 'failed') {
        this.#tools.delete(ref);
        this.#closedTools.add(ref);
        this.#closeItem(tx, after, status);
        this.#deps.onToolEnded(tx);
        return;
      }
      this.#tools.set(ref, { item: after, status });
      const isChanged = status !== open?.status || !isDeepStrictEqual(before, after);
      if (!open || !isChanged) return;
      const { item_id, tool } = after;
      // The item's row is written when it closes.
      for (const piece of changedPieces(before.text, after.text))
        this.#event(tx, { kind: 'tool.updated', payload: { item_id, ...piece, tool, status } });
    });
  }

  /** The usage of the turn with what an agent reports of it, which may be after its end. */
  usageWith(reported: Partial<Usage>): Usage {
    const { cost_usd: cost, ...rest } = this.#reports.known(reported);
    const own = typeof cost === 'number' ? { cost_usd: Math.max(0, cost - this.#costBefore) } : {};
    this.#usage = mergeUsage(this.#usage, { ...rest, ...own });
    return this.#wholeUsage() ?? this.#usage;
  }

  /** Appends a notice of the numbers that were out of range, once for each field. */
  writeNotices(tx: Writer): void {
    const payload = this.#reports.notice(tx);
    if (payload) this.#event(tx, { kind: 'session.notice', payload });
  }

  #wholeUsage(): Usage | null {
    return addUsage(this.#deps.usedBefore ?? null, this.#usage);
  }

  #mergeUsage(reported: Partial<Usage>): void {
    const usage = this.usageWith(reported);
    this.#write((tx) => {
      this.writeNotices(tx);
      this.#event(tx, { kind: 'usage.updated', payload: { usage } });
      this.#deps.onUsage(tx, usage);
    });
  }

  /** Writes the batched text and then `change`, in one transaction. If it fails, calls `onError`, and nothing more is written. */
  #write(change: (tx: Writer) => void, onEnd?: () => void): void {
    if (this.#closed || this.#broken) return;
    this.#pending++;
    this.#deps.db
      .transact((tx) => {
        tx.whenLost(() => (this.#broken = true));
        this.#writeBatch(tx);
        change(tx);
        this.reader?.save(tx, this.#saved);
      })
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        onEnd?.();
        this.#pending--;
        if (this.#pending === 0 && !this.#broken) this.#writeText();
        if (this.#pending >= MAX_PENDING_WRITES) return;
        this.#room?.resolve();
        this.#room = undefined;
      });
  }

  #writeBatch(tx: Writer): void {
    const speech = this.#speech;
    if (!speech) return;
    const text = wholeCharacters(speech.waiting, this.#closed);
    speech.waiting = speech.waiting.slice(text.length);
    for (const piece of inPieces(text)) {
      const { item_id } = speech.item;
      this.#event(tx, {
        kind: `${speech.kind}.delta`,
        payload: { item_id, offset: speech.bytes, text: piece },
      });
      speech.bytes += Buffer.byteLength(piece);
      speech.item = { ...speech.item, text: speech.item.text + piece };
    }
  }

  #closeSpeech(tx: Writer, status: ClosedStatus): void {
    const speech = this.#speech;
    if (!speech) return;
    this.#speech = undefined;
    if (speech.kind === 'message') this.#lastMessage = speech.item.text + speech.waiting;
    this.#closeItem(tx, { ...speech.item, text: speech.item.text + speech.waiting }, status);
  }

  #closeItem(tx: Writer, item: Item, status: ClosedStatus): void {
    const closed = { ...item, status, completed_at: this.#deps.clock.now() };
    this.#deps.store.items.update(tx, closed);
    this.#event(tx, closingEvent(closed));
  }

  #newItem<Tool extends Item['tool']>(kind: Item['kind'], tool: Tool): Item & { tool: Tool } {
    this.isSilent = false;
    return {
      item_id: this.#deps.ids.next('item'),
      ...this.#deps.scope,
      kind,
      status: 'open',
      text: '',
      tool,
      created_at: this.#deps.clock.now(),
      completed_at: null,
    };
  }

  #event(tx: Writer, body: EventBody): void {
    this.#deps.log.append(tx, { ...body, ...this.#deps.scope });
  }
}
