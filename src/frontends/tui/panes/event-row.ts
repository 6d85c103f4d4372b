import {
  eventKinds,
  isDelta,
  isDescribed,
  kindsMatching,
  type RuntimeEventRecord,
  settlingKinds,
} from '../../../api/events.ts';
import type { EventScope } from '../../../client/event-scope.ts';
import { oneLine, summarizeEvent } from '../../../client/event-summary.ts';
import { type LineShape, type Palette, same, type Style } from '../../terminal/palette.ts';
import { between, padded, truncated, widthOf } from '../../terminal/width.ts';
import { sessionName } from '../titles.ts';

/** One event, or all events of one message, one tool call or one output of a process. */
export interface EventRow {
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

/** The rows with some events, which may come in any order; with `onlyKnown`, events extend the rows and add none. */
export function withEvents(
  rows: readonly EventRow[],
  events: readonly RuntimeEventRecord[],
  onlyKnown = false,
): readonly EventRow[] {
  if (events.length === 0) return rows;
  const byKey = new Map(rows.map((row) => [row.key, row]));
  for (const row of events.map(rowOf)) {
    const known = byKey.get(row.key);
    if (known) byKey.set(row.key, joined(known, row));
    else if (!onlyKnown) byKey.set(row.key, row);
  }
  return [...byKey.values()].toSorted((a, b) => a.first - b.first);
}

function rowOf(event: RuntimeEventRecord): EventRow {
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

/** The end of a delta; null for any other event. A tool call has no deltas: its row shows the present state. */
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
function joined(one: EventRow, other: EventRow): EventRow {
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
export function contains(row: EventRow, text: string): boolean {
  const wanted = text.toLowerCase();
  return [row.text, row.kind, row.session_id, row.process_id, row.team_id].some((part) =>
    part?.toLowerCase().includes(wanted),
  );
}

/** A row as one line of `columns` columns; a narrow line has fewer parts before the text. */
export function eventLine(
  row: EventRow,
  { columns, palette }: LineShape,
  isSelected = false,
): string {
  const { first, at, kind, session_id, process_id, team_id, text, pieces } = row;
  const { strong, faint, accent } = palette;
  const emphasis = isSelected ? strong : same;
  const time = new Date(at).toISOString().slice(11, columns < 110 ? 19 : 23);
  const owner = ((session_id ?? process_id ?? team_id)?.slice(-8) ?? '-').padEnd(8);
  const label =
    columns >= 60 ? kind.padEnd(19) : kind.length > 15 ? `${kind.slice(0, 14)}~` : kind.padEnd(15);
  const head = [
    emphasis(isSelected ? '>' : ' '),
    columns < 90 ? '' : faint(`${String(first).padStart(7)} `),
    columns < 60 ? '' : faint(` ${time} `),
    columns < 72 ? '' : accent(` ${owner} `),
    toneOf(kind, palette)(` ${label} `),
  ].join('');
  const room = columns - widthOf(head);
  // A text that still grows is cut at its beginning.
  const cut = pieces.length > 0 ? withoutStart(text, room) : truncated(text, room);
  return padded(`${head}${emphasis(cut)}`, columns);
}

function withoutStart(text: string, columns: number): string {
  const width = widthOf(text);
  return width <= columns ? text : `…${between(text, width - columns + 1, width)}`;
}

function toneOf(kind: string, palette: Palette): Style {
  if (/\.(failed|timed_out|killed)$/.test(kind)) return palette.bad;
  if (kind === 'approval.requested' || /interrupt|kill_requested|trimmed/.test(kind))
    return palette.warn;
  if (/^turn\.completed$|^process\.completed$|^approval\./.test(kind)) return palette.good;
  return /^(usage|plan|reasoning|runtime)/.test(kind) ? palette.faint : same;
}

/** The owners that the events can be narrowed to, each with the key that does it for the selected event. */
export const scopes = [
  { key: 's', owner: 'session', option: 'sessionId', field: 'session_id' },
  { key: 'p', owner: 'process', option: 'processId', field: 'process_id' },
  { key: 't', owner: 'team', option: 'teamId', field: 'team_id' },
] as const satisfies {
  key: string;
  owner: string;
  option: keyof EventScope;
  field: keyof EventRow;
}[];

/** A scope in a few words. `title`: the title of its session, if it is known. */
export function describeScope(scope: EventScope, title: string | null): string {
  const owners = scopes.flatMap(({ owner, option }) => {
    const id = scope[option];
    if (id === undefined) return [];
    return owner === 'session' ? [sessionName(id, title)] : [`${owner} ${id.slice(-8)}`];
  });
  return [...(owners.length > 0 ? owners : ['all']), ...(scope.kinds ?? [])].join(' · ');
}

const groups = [...new Set(eventKinds.map((kind) => kind.split('.')[0] ?? kind))];

/** The kinds in a text of kinds and names of groups. `unknown` is the message for a word that is neither. */
export function readKinds(text: string): { kinds: string[] | undefined; unknown: string | null } {
  const kinds = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((word) => (groups.includes(word) ? `${word}.*` : word));
  const wrong = kinds.find((kind) => kindsMatching([kind]).size === 0);
  return {
    kinds: kinds.length > 0 ? kinds : undefined,
    unknown: wrong === undefined ? null : `unknown kind "${wrong}": expected ${groups.join(' ')}`,
  };
}
