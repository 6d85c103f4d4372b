import type { Item } from '../../../api/sessions.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { EventBody } from '../../../core/events/event.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { SessionStore } from './store.ts';

export type ClosedStatus = Exclude<Item['status'], 'open'>;

interface Rows extends Pick<ServerParts, 'log' | 'clock'> {
  store: SessionStore;
}

/**
 * Closes items from their stored rows and deltas, in the transaction that ends their turn. It is for items without an
 * intact `TurnOutput`, because the server died or a write to the disk failed.
 */
export function closeStoredItems(
  tx: Writer,
  items: readonly Item[],
  status: ClosedStatus,
  { log, store, clock }: Rows,
): void {
  for (const item of items) {
    let { text, tool } = item;
    for (const { kind, payload } of log.deltasOf(tx, item.session_id, item.item_id)) {
      const { offset, text: piece } = payload;
      // A delta with offset 0 replaces the text before it.
      text = offset === 0 ? piece : text + piece;
      if (kind === 'tool.updated' && !payload.truncated) tool = payload.tool;
    }
    const closed = { ...item, text, tool, status, completed_at: clock.now() };
    const { session_id, turn_id } = item;
    store.items.update(tx, closed);
    log.append(tx, { ...closingEvent(closed), session_id, turn_id });
  }
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
