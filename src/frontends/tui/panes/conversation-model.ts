import { isDelta, isDescribed, type RuntimeEventRecord, settles } from '../../../api/events.ts';
import type { Client } from '../../../client/client.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { blockLines, isApart, visibleBlocks } from '../../terminal/conversation-lines.ts';
import { type Block, noticeText, promptLine, toolText } from '../../terminal/conversation.ts';
import { GrowingMarkdown } from '../../terminal/growing-markdown.ts';
import { codeBlocks } from '../../terminal/markdown.ts';
import { charactersOf, type Connection, follow } from '../follow.ts';
import { Observable } from '../observable.ts';
import { ConversationPages } from './conversation-pages.ts';
import {
  conversationKinds,
  type ConversationState,
  emptyConversation,
  withEvents,
} from './conversation-state.ts';
import type { Copyable, PaneModel } from './pane-model.ts';
import { RenderThrottle } from './render-throttle.ts';
import { ObjectCache, Reader, type Shape, type Text } from './reader.ts';

export interface ConversationOptions {
  client: Client;
  clock: Clock;
  sessionId: string;
}

/** The conversation of a session: its newest turns, older ones on demand, and what happens from now on. */
export class ConversationModel implements PaneModel {
  readonly connection = new Observable<Connection>({ state: 'reading' });
  readonly seq = new Observable(0);
  /** Whether tools are folded to a line, and thoughts left out. */
  readonly folded = new Observable(true);
  readonly reader: Reader;
  readonly #options: ConversationOptions;
  readonly #text = new ConversationText();
  readonly #stopped = new AbortController();
  readonly #throttle: RenderThrottle;
  #state: ConversationState = emptyConversation;
  #pages: ConversationPages;
  #older: Promise<void> | undefined;
  /** Resolves once the newest turns are read, and when it ends. */
  readonly #begun = Promise.withResolvers<void>();

  constructor(options: ConversationOptions) {
    this.#options = options;
    this.#pages = new ConversationPages(options.client, options.sessionId);
    this.#throttle = new RenderThrottle(options.clock, () => this.#show());
    this.reader = new Reader(this.#text);
  }

  start(): void {
    const { client, clock, sessionId } = this.#options;
    void follow({
      client,
      clock,
      scope: { sessionId, kinds: conversationKinds },
      signal: this.#stopped.signal,
      begin: () => this.#begin(),
      take: (events) => this.#take(events),
      connection: this.connection,
      // Some events are gone: the turns tell what they said.
      onGap: () => this.#begin(),
    });
  }

  stop(): void {
    this.#stopped.abort();
    this.#begun.resolve();
    this.#throttle.stop();
  }

  older(): Promise<void> {
    if (this.#pages.isAtStart || this.#state.seq === 0) return Promise.resolve();
    this.#older ??= this.#readOlder().finally(() => (this.#older = undefined));
    return this.#older;
  }

  /** Shows the first of these keys that there is, and reads older turns until one is there. */
  async reveal(keys: readonly string[]): Promise<void> {
    await this.#begun.promise;
    while (!this.#stopped.signal.aborted) {
      for (const wanted of keys) {
        const at = this.#text.blocks.findIndex(({ key }) => key === wanted);
        if (at >= 0) return this.reader.toBlock(at);
      }
      if (this.#pages.isAtStart) return;
      await this.older();
    }
  }

  coverage(): string {
    if (this.#pages.isAtStart) return 'in all turns';
    const turns = this.prompts().length;
    return `in the last ${turns === 1 ? 'turn' : `${turns} turns`}, older not loaded`;
  }

  /** Folds or unfolds tools and thoughts. The reader stays at what was at the top. */
  fold(): void {
    this.#throttle.now();
    this.folded.change((folded) => !folded);
    const { at } = this.reader.top();
    const below = new Set(this.#text.blocks.slice(at).map(({ key }) => key));
    this.#text.show(this.#state.blocks, this.folded.get());
    const next = this.#text.blocks.findIndex(({ key }) => below.has(key));
    this.reader.changed(next < 0 ? 0 : next - at);
  }

  /** My prompts, oldest first: the index of each block, and its first line. */
  prompts(): { at: number; text: string }[] {
    return this.#text.blocks.flatMap((block, at) =>
      block.type === 'prompt' ? [{ at, text: promptLine(block) }] : [],
    );
  }

  /** The block of the prompt after (1) or before (-1) the top of what is shown; null where there is none. */
  promptFrom(direction: 1 | -1): number | null {
    const { at, line } = this.reader.top();
    const prompts = this.prompts();
    const found =
      direction > 0
        ? prompts.find((prompt) => prompt.at > at)
        : prompts.findLast((prompt) => prompt.at < at || (prompt.at === at && line > 1));
    return found?.at ?? null;
  }

  copyable(): Copyable[] {
    const answers = this.#state.blocks.filter(({ type }) => type === 'message');
    const last = answers.at(-1);
    const answer = last && 'text' in last ? last.text : '';
    const visible = this.reader.visibleText();
    return [
      { name: 'last answer', text: answer },
      ...codeBlocks(answer).map((text) => ({ name: `code: ${text.split('\n', 1)[0]}`, text })),
      { name: 'visible text', text: visible },
      { name: 'session id', text: this.#options.sessionId },
    ].filter(({ text }) => text !== '');
  }

  /** Reads the newest turns, and resolves with the seq up to which they are complete. */
  async #begin(): Promise<number> {
    const pages = new ConversationPages(this.#options.client, this.#options.sessionId);
    const { blocks, seq, open } = await pages.next();
    const pieces = await pages.pieces(open, seq);
    if (this.#stopped.signal.aborted) return seq;
    this.#pages = pages;
    this.#state = { ...withEvents({ ...emptyConversation, blocks }, pieces), seq };
    this.#throttle.now();
    this.#begun.resolve();
    return seq;
  }

  #take(events: readonly RuntimeEventRecord[]): void {
    this.#state = withEvents(this.#state, events);
    if (events.every(isDelta)) this.#throttle.grew(charactersOf(events));
    else this.#throttle.now();
    for (const event of events)
      if (event.payload.truncated && event.turn_id !== null)
        void this.#readWhole(event, event.turn_id);
  }

  /** Replaces the block of an event that was cut. */
  async #readWhole(event: RuntimeEventRecord, turnId: string): Promise<void> {
    const isEnd = isDescribed(event) && settles(event);
    const whole =
      event.kind === 'turn.accepted'
        ? this.#pages.prompt(turnId)
        : isEnd && 'item_id' in event.payload
          ? this.#pages.item(turnId, event.payload.item_id)
          : null;
    const block = await whole?.catch(() => null);
    if (!block) return;
    const blocks = this.#state.blocks.map((one) => (one.key === block.key ? block : one));
    this.#state = { ...this.#state, blocks };
    this.#throttle.now();
  }

  async #readOlder(): Promise<void> {
    const pages = this.#pages;
    const { blocks } = await pages.next();
    if (pages !== this.#pages || this.#stopped.signal.aborted) return;
    this.#throttle.now();
    const before = this.#text.blocks.length;
    this.#state = { ...this.#state, blocks: [...blocks, ...this.#state.blocks] };
    this.#text.show(this.#state.blocks, this.folded.get());
    this.reader.changed(this.#text.blocks.length - before);
  }

  #show(): void {
    this.#text.show(this.#state.blocks, this.folded.get());
    this.seq.set(this.#state.seq);
    this.reader.changed();
  }
}

/** The blocks of a conversation as text. Rendered lines are kept until the block or the shape changes. */
class ConversationText implements Text {
  blocks: readonly Block[] = [];
  #folded = true;
  readonly #rendered = new ObjectCache<Block, readonly string[]>();
  readonly #growing = new Map<string, GrowingMarkdown>();

  show(blocks: readonly Block[], folded: boolean): void {
    this.#folded = folded;
    this.blocks = visibleBlocks(blocks, { folded });
  }

  count(): number {
    return this.blocks.length;
  }

  textOf(at: number): string {
    const block = this.blocks[at];
    if (!block) return '';
    switch (block.type) {
      case 'tool':
        return this.#folded
          ? toolText(block)
          : `${toolText(block)}\n${JSON.stringify(block.input)}\n${block.output}`;
      case 'approval':
        return `${block.approval.kind} ${block.approval.title} ${block.approval.status}`;
      case 'plan':
        return block.entries.map(({ content }) => content).join('\n');
      case 'notice':
        return noticeText(block);
      case 'end':
        return `${block.status} ${block.message}`;
      default:
        return block.text;
    }
  }

  linesOf(at: number, { columns, palette }: Shape): readonly string[] {
    const block = this.blocks[at];
    if (!block) return [];
    const shape = { columns, palette, folded: this.#folded };
    const apart = isApart(block, this.blocks[at - 1], shape);
    const key = `${columns} ${palette.on} ${this.#folded} ${apart}`;
    return this.#rendered.get(block, key, () => {
      const own = this.#linesOf(block, shape);
      return apart ? ['', ...own] : own;
    });
  }

  #linesOf(block: Block, shape: Parameters<typeof blockLines>[1]): string[] {
    if (block.type !== 'message' || block.status !== 'open') {
      this.#growing.delete(block.key);
      return blockLines(block, shape);
    }
    const growing = this.#growing.get(block.key) ?? new GrowingMarkdown();
    this.#growing.set(block.key, growing);
    return growing.lines(block.text, shape);
  }
}
