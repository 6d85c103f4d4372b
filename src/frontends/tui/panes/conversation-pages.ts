import type { PastTurn } from '../../../api/conversations.ts';
import type { Approval } from '../../../api/approvals.ts';
import type { RuntimeEventRecord } from '../../../api/events.ts';
import { isAppError } from '../../../api/errors.ts';
import { endpoints } from '../../../api/index.ts';
import type { Client } from '../../../client/client.ts';
import { readNotices, replayBefore } from '../../../client/replay.ts';
import {
  type Block,
  blockOfItem,
  conversation,
  type Notice,
  promptOf,
  type TurnWithItems,
} from '../../terminal/conversation.ts';

/** This many turns are read at once. */
const PAGE = 10;
/** The pieces of an item that grows are read in pages of this many events. */
const PIECES = 2000;

/** Some turns of a conversation, oldest first. */
export interface ConversationPage {
  blocks: Block[];
  /** Events after it may change the page, or add to it. */
  seq: number;
  /** The items that grow: their texts are only in the log. */
  open: string[];
}

/** Reads the turns of a session from the newest to the oldest, page by page. Each call throws an AppError. */
export class ConversationPages {
  readonly #client: Client;
  readonly #session_id: string;
  readonly #approvals: Approval[] = [];
  #notices: Notice[] | undefined;
  /** The past turns of no page so far, oldest first. */
  #past: PastTurn[] | undefined;
  #moreApprovals: string | undefined | null;
  #moreTurns: string | undefined | null;

  constructor(client: Client, sessionId: string) {
    this.#client = client;
    this.#session_id = sessionId;
  }

  /** Whether there is no page before the one that was read last. */
  get isAtStart(): boolean {
    return this.#moreTurns === null;
  }

  /** Reads the page before the one that was read last; at first the newest. */
  async next(): Promise<ConversationPage> {
    const params = { session_id: this.#session_id };
    const { value, headers } = await this.#client.ask(endpoints.listTurns, {
      params,
      query: { limit: PAGE, ...(this.#moreTurns ? { cursor: this.#moreTurns } : {}) },
    });
    const turns: TurnWithItems[] = [];
    for (const turn of value.toReversed()) {
      const at = { params: { ...params, turn_id: turn.turn_id } };
      turns.push({ turn, items: await this.#client.call(endpoints.listItems, at) });
    }
    await this.#readApprovals(value.at(-1)?.accepted_at ?? 0);
    this.#notices ??= await readNotices(this.#client, this.#session_id);
    // Only now: a page that could not be read whole is read again.
    this.#moreTurns = headers['x-next-cursor']?.toString() ?? null;
    const past = await this.#takePast(value.at(-1)?.accepted_at ?? 0);
    const items = turns.flatMap((one) => one.items);
    return {
      blocks: conversation(turns, this.#approvals, this.#notices, past),
      seq: Number(headers['x-seq'] ?? 0),
      open: items.filter(({ status }) => status === 'open').map(({ item_id }) => item_id),
    };
  }

  /** Returns the past turns of the page with the turns since `from`; the first page of a conversation has the rest. */
  async #takePast(from: number): Promise<PastTurn[]> {
    this.#past ??= await this.#readPast();
    const isOfPage = (one: PastTurn) => this.isAtStart || (one.occurred_at ?? 0) >= from;
    const taken = this.#past.filter(isOfPage);
    this.#past = this.#past.filter((one) => !taken.includes(one));
    return taken;
  }

  /** No past turns where a server of an older version has no such list. */
  async #readPast(): Promise<PastTurn[]> {
    const at = { params: { session_id: this.#session_id }, query: { limit: 500 } };
    try {
      return (await this.#client.call(endpoints.listPastTurns, at)).toReversed();
    } catch (error) {
      if (isAppError(error, 'not_found')) return [];
      throw error;
    }
  }

  /** The pieces of items that grow, up to the event `seq`. */
  async pieces(open: readonly string[], seq: number): Promise<RuntimeEventRecord[]> {
    const kinds = ['message.delta', 'reasoning.delta', 'tool.updated'];
    const scope = { sessionId: this.#session_id, kinds };
    const begun = new Set<string>();
    const pages: RuntimeEventRecord[][] = [];
    for (let before = seq + 1; open.some((id) => !begun.has(id));) {
      const page = await replayBefore(this.#client, scope, before, PIECES);
      pages.unshift(page);
      for (const { payload } of page)
        if ('item_id' in payload && 'offset' in payload && payload.offset === 0)
          begun.add(String(payload.item_id));
      if (page.length < PIECES) break;
      before = page[0]?.seq ?? 0;
    }
    return pages
      .flat()
      .filter(({ payload }) => 'item_id' in payload && open.includes(String(payload.item_id)));
  }

  /** The prompt of a turn, whole: an event may have been too short for it. */
  async prompt(turn_id: string): Promise<Block> {
    const params = { session_id: this.#session_id, turn_id };
    return promptOf(await this.#client.call(endpoints.getTurn, { params }));
  }

  /** An item, whole: an event may have been too short for it. */
  async item(turn_id: string, item_id: string): Promise<Block> {
    const params = { session_id: this.#session_id, turn_id, item_id };
    return blockOfItem(await this.#client.call(endpoints.getItem, { params }));
  }

  /** Reads approvals until all those since a time are known. */
  async #readApprovals(since: number): Promise<void> {
    const isKnown = () => (this.#approvals.at(-1)?.created_at ?? Infinity) < since;
    while (this.#moreApprovals !== null && !isKnown()) {
      const cursor = this.#moreApprovals;
      const { value, headers } = await this.#client.ask(endpoints.listSessionApprovals, {
        params: { session_id: this.#session_id },
        query: { limit: 100, ...(cursor ? { cursor } : {}) },
      });
      this.#approvals.push(...value);
      this.#moreApprovals = headers['x-next-cursor']?.toString() ?? null;
    }
  }
}
