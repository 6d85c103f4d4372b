import { isDelta, isDescribed, type RuntimeEventRecord, settlingKinds } from '../api/events.ts';
import { oneLine, telling } from '../client/telling.ts';

/** A line of the list: one event, or all that tells of one message, one tool call, one stream of a process. */
export interface Row {
  key: string;
  /** The seqs of its first and of its newest event. */
  first: number;
  last: number;
  /** When its first event was. */
  at: number;
  /** The kind of its newest event. */
  kind: string;
  session_id: string | null;
  process_id: string | null;
  team_id: string | null;
  /** What it says, as one line of plain text. */
  text: string;
  /** While it grows, the end of it by the events that brought it; empty once it is whole. */
  pieces: readonly Piece[];
}

interface Piece {
  seq: number;
  text: string;
}

/** A row keeps so much of what was said; the rest is in the detail. */
const MAX_TEXT = 4000;

/** The row of a single event. */
export function rowOf(event: RuntimeEventRecord): Row {
  const { seq, kind, created_at, session_id, process_id, team_id } = event;
  const piece = pieceOf(event);
  return {
    key: keyOf(event),
    first: seq,
    last: seq,
    at: created_at,
    kind,
    session_id,
    process_id,
    team_id,
    text: (piece === null ? telling(event) : oneLine(piece)).slice(0, MAX_TEXT),
    pieces: piece === null ? [] : [{ seq, text: piece }],
  };
}

/** The end of a piece of text that grows; null for an event that is no such piece. A tool is shown as it is now. */
function pieceOf(event: RuntimeEventRecord): string | null {
  if (!isDelta(event) || event.kind === 'tool.updated') return null;
  return event.payload.text.slice(-MAX_TEXT);
}

/** Events with the same key share a row. */
function keyOf(event: RuntimeEventRecord): string {
  if (!isDescribed(event)) return String(event.seq);
  const { seq, process_id, payload } = event;
  if ('item_id' in payload) return payload.item_id;
  return 'stream' in payload ? `${process_id} ${payload.stream}` : String(seq);
}

/** Two parts of one row, in whichever order they came; a part that came before changes nothing. */
export function joined(one: Row, other: Row): Row {
  const [newer, older] = one.last >= other.last ? [one, other] : [other, one];
  const pieces = settlingKinds.has(newer.kind) ? [] : endOf([...newer.pieces, ...older.pieces]);
  return {
    ...newer,
    first: Math.min(one.first, other.first),
    at: one.first <= other.first ? one.at : other.at,
    pieces,
    text: pieces.length > 0 ? oneLine(pieces.map(({ text }) => text).join('')) : newer.text,
  };
}

/** The last of the pieces, by seq and each once: as few as have all the text that is kept. */
function endOf(pieces: readonly Piece[]): Piece[] {
  const kept: Piece[] = [];
  let length = 0;
  for (const piece of pieces.toSorted((a, b) => b.seq - a.seq)) {
    if (length >= MAX_TEXT) break;
    if (kept.at(-1)?.seq === piece.seq) continue;
    kept.push(piece);
    length += piece.text.length;
  }
  return kept.toReversed();
}

/** Whether it has a text, in what it says or in what it is called. */
export function contains(row: Row, text: string): boolean {
  const wanted = text.toLowerCase();
  return [row.text, row.kind, row.session_id, row.process_id, row.team_id].some((part) =>
    part?.toLowerCase().includes(wanted),
  );
}
