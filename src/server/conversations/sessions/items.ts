import type { Item } from '../../../api/sessions.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { EventBody } from '../../../core/events/event.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import type { SessionStore } from './store.ts';
import type { ToolChange } from '../../../agents/provider.ts';

export type ClosedStatus = Exclude<Item['status'], 'open'>;

interface Rows extends Pick<ServerParts, 'log' | 'clock'> {
  store: SessionStore;
}

/** Closes items from stored rows and deltas: after a crash or a failed write, they have no intact `TurnOutput`. */
export function closeStoredItems(
  tx: Writer,
  items: readonly Item[],
  status: ClosedStatus,
  { log, store, clock }: Rows,
): void {
  for (const item of items) {
    const closed = { ...withDeltas(tx, item, log).item, status, completed_at: clock.now() };
    const { session_id, turn_id } = item;
    store.items.update(tx, closed);
    log.append(tx, { ...closingEvent(closed), session_id, turn_id });
  }
}

/**
 * Returns an open item as its stored deltas have changed it, and the status of a tool in the newest of them. Null if none
 * has a status.
 */
export function withDeltas(
  rx: Reader,
  item: Item,
  log: Rows['log'],
): { item: Item; status: ToolStatus | null } {
  let { text, tool } = item;
  let status: ToolStatus | null = null;
  for (const { kind, payload } of log.deltasOf(rx, item.session_id, item.item_id)) {
    const { offset, text: piece } = payload;
    // A delta with offset 0 replaces the text before it.
    text = offset === 0 ? piece : text + piece;
    if (kind !== 'tool.updated' || payload.truncated) continue;
    ({ tool } = payload);
    status = payload.status;
  }
  return { item: { ...item, text, tool }, status };
}

/** Returns the event that closes an item, with the whole text of the item. */
export function closingEvent({
  item_id,
  kind,
  status,
  text,
  tool,
}: Item & { status: ClosedStatus }): EventBody {
  const payload = { item_id, offset: 0, status, text };
  if (tool) return { kind: 'tool.completed', payload: { ...payload, tool } };
  return { kind: kind === 'message' ? 'message.completed' : 'reasoning.completed', payload };
}

export type ToolItem = Item & { tool: NonNullable<Item['tool']> };
export type ToolStatus = NonNullable<ToolChange['status']>;

export interface OpenTool {
  item: ToolItem;
  status: ToolStatus;
}

export function changedTool(item: ToolItem, change: ToolChange): ToolItem {
  const tool = { ...item.tool };
  if (change.title !== undefined) tool.title = change.title;
  if (change.kind !== undefined) tool.kind = change.kind;
  if (change.input !== undefined) tool.input = change.input;
  if (change.locations !== undefined) tool.locations = change.locations;
  if (change.diffs !== undefined) tool.diffs = change.diffs;
  return { ...item, tool, text: change.output ?? item.text };
}

/** Returns the new pieces of a tool's output: its new end if it only grew, else all of it; an empty one without a change. */
export function changedPieces(before: string, after: string): { offset: number; text: string }[] {
  const grew = after.startsWith(before);
  let offset = grew ? Buffer.byteLength(before) : 0;
  const texts = inPieces(grew ? after.slice(before.length) : after);
  return (texts.length > 0 ? texts : ['']).map((text) => {
    const piece = { offset, text };
    offset += Buffer.byteLength(text);
    return piece;
  });
}

/** The most tools that one transaction closes, and the most code units of their texts and inputs in it. */
const CLOSED_AT_ONCE = 500;
const CLOSED_UNITS = 256 * 1024;

/** The first of the open tools that one transaction closes; null if it closes all. */
export function someTools(tools: ReadonlyMap<string, OpenTool>): [string, OpenTool][] | null {
  const some: [string, OpenTool][] = [];
  let units = 0;
  for (const one of tools) {
    if (some.length >= CLOSED_AT_ONCE || units >= CLOSED_UNITS) return some;
    units += one[1].item.text.length + JSON.stringify(one[1].item.tool).length;
    some.push(one);
  }
  return null;
}

/** The maximum length of a delta, in UTF-16 code units. Even fully escaped as JSON, it fits into an event's payload. */
const MAX_DELTA_CHARACTERS = 32 * 1024;

/** Splits a text into pieces of at most one delta, without splitting a character. */
export function inPieces(text: string): string[] {
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

/** Returns the text without a high surrogate at its end, because the low one may follow; with `isEnd`, all of it. */
export function wholeCharacters(text: string, isEnd: boolean): string {
  const last = text.charCodeAt(text.length - 1);
  return !isEnd && last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}
