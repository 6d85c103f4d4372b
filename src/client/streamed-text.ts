/** A part of the text of an item. The text is absent if it was too long for an event. */
export interface TextPiece {
  item_id: string;
  /** In bytes of UTF-8. */
  offset: number;
  text?: string | undefined;
}

/** The number of known bytes of the text of each open item, by the id of the item. */
export type KnownBytes = Map<string, number>;

/** Returns the text of a delta. Null if it is known already; a delta at 0 starts the text again. */
export function addDelta(
  known: KnownBytes,
  { item_id, offset, text = '' }: TextPiece,
): string | null {
  if (offset > 0 && offset < (known.get(item_id) ?? 0)) return null;
  if (text !== '') known.set(item_id, offset + Buffer.byteLength(text));
  return text;
}

/** Returns the rest of the text of a closed item: the reader may have started late, or deltas may be missing. */
export function remainderOf(known: KnownBytes, { item_id, text = '' }: TextPiece): string {
  const rest = Buffer.from(text).subarray(known.get(item_id) ?? 0);
  known.delete(item_id);
  return rest.toString('utf8');
}
