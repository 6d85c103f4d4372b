import { isDelta, isDescribed, type RuntimeEventRecord, settlingKinds } from '../../api/events.ts';
import { oneLine, summarizeEvent } from '../../client/event-summary.ts';

/** A line of the list: one event, or all events of one message, one tool call or one output of a process. */
export interface Row {
  key: string;
  /** The seqs of its first and of its newest event. */
  first: number;
  last: number;
  /** The time of its first event, in Unix milliseconds. */
  at: number;
  /** The kind of its newest event. */
  kind: string;
  session_id: string | null;
  process_id: string | null;
  team_id: string | null;
  /** Its text, as one line of plain text. */
  text: string;
  /** While the item grows, the deltas at the end of its text; empty once it is complete. */
  pieces: readonly Piece[];
}

interface Piece {
  seq: number;
  text: string;
}

/** A row keeps this many characters. The detail of an event shows the whole text. */
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
    text: (piece === null ? summarizeEvent(event) : oneLine(piece)).slice(0, MAX_TEXT),
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

/** The row of two parts, which may come in any order. A part that the row has already changes nothing. */
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

/** The newest pieces, each once and ordered by seq: as few as hold the text that a row keeps. */
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

/** Whether the text, the kind or an id of a row contains a text. */
export function contains(row: Row, text: string): boolean {
  const wanted = text.toLowerCase();
  return [row.text, row.kind, row.session_id, row.process_id, row.team_id].some((part) =>
    part?.toLowerCase().includes(wanted),
  );
}
