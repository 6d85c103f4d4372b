import { deltaKinds, type RuntimeEventRecord, settlingKinds } from '../api/events.ts';
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
  const { seq, kind, created_at, session_id, process_id, team_id, payload } = event;
  const grows = deltaKinds.has(kind) && payload.tool === undefined;
  const piece = (typeof payload.text === 'string' ? payload.text : '').slice(-MAX_TEXT);
  return {
    key: keyOf(event),
    first: seq,
    last: seq,
    at: created_at,
    kind,
    session_id,
    process_id,
    team_id,
    text: (grows ? oneLine(piece) : telling(event)).slice(0, MAX_TEXT),
    pieces: grows ? [{ seq, text: piece }] : [],
  };
}

/** Events with the same key share a row. */
function keyOf({ seq, kind, process_id, payload }: RuntimeEventRecord): string {
  if (typeof payload.item_id === 'string') return payload.item_id;
  if (kind === 'process.output') return `${process_id} ${String(payload.stream)}`;
  return String(seq);
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
