import type { SearchHit } from '../../../api/search.ts';
import type { Session } from '../../../api/sessions.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { yieldToEventLoop } from '../../../core/lib/slices.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import type { Document } from './documents.ts';
import type { Candidate, IndexFile } from './index-file.ts';
import { type Span, scoreOf, spansIn, type Term, matchExpression } from './query.ts';
import { intact, type Rows } from './rows.ts';

export interface SearchRequest {
  terms: readonly Term[];
  /** Marks of which a text has one of each list. */
  marks: readonly (readonly string[])[];
  since: number;
  /** Whether a text of a session is wanted: the conditions of the marks, checked against the store. */
  isWanted: (document: Document, session: Session) => boolean;
  signal: AbortSignal;
}

export interface Found {
  doc: number;
  hit: SearchHit;
  score: number;
}

interface Read {
  candidate: Candidate;
  document: Document;
  session: Session;
}

/** A search blocks the event loop for no longer than about this at a time, and takes no longer in all; in milliseconds. */
const SLICE_MS = 6;
const LIMIT_MS = 2000;
/** How many texts that may match are read at a time; of those with a bound in time, only the newer ones are read. */
const CANDIDATES = 16;
const CANDIDATES_SINCE = 64;

interface FinderDeps extends Pick<ServerParts, 'db' | 'clock'> {
  store: SessionStore;
  rows: Rows;
}

/**
 * Finds texts, newest first, and reads each as it is stored now. Returns up to `limit` hits with lower numbers than
 * `below`, and the next `below`: null if there are no more. It may return fewer, because its time is limited.
 */
export async function findTexts(
  deps: FinderDeps,
  index: IndexFile,
  wanted: SearchRequest,
  { below, limit }: { below: number; limit: number },
): Promise<{ found: Found[]; next: number | null }> {
  const match = matchExpression(wanted.terms, wanted.marks);
  const found: Found[] = [];
  const slices = new TimeSlices(deps.clock);
  let next = below;
  for (const key of index.shardsSince(wanted.since)) {
    if (index.endOf(key - 1) >= below) continue;
    let isEnd = false;
    while (!isEnd) {
      const size = wanted.since > 0 ? CANDIDATES_SINCE : CANDIDATES;
      const candidates = index.candidates(key, match, next, size);
      isEnd = candidates.length < size;
      const recent = candidates.filter(({ at }) => at >= wanted.since);
      for (const read of await readTexts(recent, wanted, deps)) {
        const hit = hitOf(read, wanted.terms);
        if (hit && !isSame(found, hit)) found.push(hit);
        if (found.length === limit) return { found, next: hit?.doc ?? next };
        await slices.yieldWhenDue();
      }
      next = candidates.at(-1)?.doc ?? next;
      await slices.yieldWhenDue();
      if (wanted.signal.aborted) return { found, next: null };
      if (slices.isOver)
        return { found, next: isEnd ? Math.min(next, index.endOf(key - 1)) : next };
    }
  }
  return { found, next: null };
}

/** The texts as they are stored now: what retention has deleted is missing, and what belongs to a damaged session. */
function readTexts(
  candidates: readonly Candidate[],
  { isWanted }: SearchRequest,
  { db, rows, store }: FinderDeps,
): Promise<Read[]> {
  const sessions = new Map<string, Session | null>();
  const sessionOf = (rx: Reader, id: string) => {
    const known = sessions.get(id);
    if (known !== undefined) return known;
    const session = intact(() => store.sessions.get(rx, id)) ?? null;
    sessions.set(id, session);
    return session;
  };
  return db.read((rx) =>
    candidates.flatMap((candidate) => {
      const document = rows.document(rx, candidate.source);
      const session = document && sessionOf(rx, document.session_id);
      if (!session || session.trimmed || !isWanted(document, session)) return [];
      return [{ candidate, document, session }];
    }),
  );
}

function hitOf(
  { candidate: { doc, at }, document, session }: Read,
  terms: readonly Term[],
): Found | null {
  const { kind, session_id, turn_id, item_id, text } = document;
  const spans = spansIn(text, terms);
  if (!spans) return null;
  const home = `/v1/sessions/${session_id}`;
  const hit = {
    kind,
    session_id,
    turn_id,
    item_id,
    session_title: session.title,
    session_status: session.status,
    provider: session.provider,
    cwd: session.cwd,
    // The store does not know when a title was given.
    created_at: kind === 'title' ? at : document.at,
    ...snippetOf(text, spans),
    url: turn_id === null ? home : `${home}/turns/${turn_id}`,
  };
  return { doc, hit, score: scoreOf(text, spans, terms.length) };
}

/** A title that was set several times has several numbers, but is one hit. */
function isSame(found: readonly Found[], { hit }: Found): boolean {
  return (
    hit.kind === 'title' &&
    found.some((other) => other.hit.kind === 'title' && other.hit.session_id === hit.session_id)
  );
}

/** Lets others run between the steps of a search. */
class TimeSlices {
  readonly #clock: Clock;
  readonly #end: number;
  #slice: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    const now = clock.monotonic();
    this.#end = now + LIMIT_MS;
    this.#slice = now + SLICE_MS;
  }

  get isOver(): boolean {
    return this.#clock.monotonic() >= this.#end;
  }

  async yieldWhenDue(): Promise<void> {
    if (this.#clock.monotonic() < this.#slice) return;
    await yieldToEventLoop();
    this.#slice = this.#clock.monotonic() + SLICE_MS;
  }
}

/** A part of a text as one line, with the positions of what was found in it, in UTF-16 code units. */
interface Snippet {
  text: string;
  marks: { start: number; end: number }[];
}

/** The length of the part that is shown, and how much of it stands before the first position, in UTF-16 code units. */
const LENGTH = 200;
const BEFORE = 40;
/** So many positions are tried as the first one that is shown. */
const TRIED = 200;

/** The part of a text that has the most of what was found. The text has no control characters. */
export function snippetOf(text: string, spans: readonly Span[]): Snippet {
  const first = bestOf(spans);
  const { from, to } = windowAt(text, first);
  const shown = withoutOverlap(spans.filter(({ start, end }) => start >= from && end <= to));
  const snippet: Snippet = { text: from > 0 ? '…' : '', marks: [] };
  let at = from;
  for (const { start, end } of shown) {
    append(snippet, text.slice(at, start));
    const begin = snippet.text.length;
    append(snippet, text.slice(start, end));
    snippet.marks.push({ start: begin, end: snippet.text.length });
    at = end;
  }
  append(snippet, text.slice(at, to));
  snippet.text = snippet.text.trimEnd() + (to < text.length ? '…' : '');
  return snippet;
}

/** The position after which most terms stand close by. */
function bestOf(spans: readonly Span[]): number {
  let best = { start: spans[0]?.start ?? 0, terms: 0 };
  for (const [at, { start }] of spans.slice(0, TRIED).entries()) {
    const terms = new Set<number>();
    for (let i = at; i < spans.length; i++) {
      const span = spans[i];
      if (!span || span.end > start + LENGTH - BEFORE) break;
      terms.add(span.term);
    }
    if (terms.size > best.terms) best = { start, terms: terms.size };
  }
  return best.start;
}

/** The part around a position; it begins and ends between words where a space is near. */
function windowAt(text: string, position: number): { from: number; to: number } {
  let from = Math.max(0, position - BEFORE);
  if (from > 0) {
    const space = text.slice(from, position).search(/\s/);
    from = space < 0 ? whole(text, from) : from + space + 1;
  }
  let to = Math.min(text.length, from + LENGTH);
  if (to < text.length) {
    const space = text.slice(to - BEFORE, to).search(/\s\S*$/);
    to = space < 0 ? whole(text, to) : to - BEFORE + space;
  }
  return { from, to: Math.max(to, position) };
}

function whole(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text[at] ?? '') ? at - 1 : at;
}

function withoutOverlap(spans: readonly Span[]): Span[] {
  const kept: Span[] = [];
  for (const span of spans) if (span.start >= (kept.at(-1)?.end ?? 0)) kept.push(span);
  return kept;
}

/** Appends a text with each run of white space as one space. */
function append(snippet: Snippet, text: string): void {
  const line = text.replaceAll(/\s+/g, ' ');
  const isApart = snippet.text === '' || snippet.text === '…' || snippet.text.endsWith(' ');
  snippet.text += isApart ? line.replace(/^ /, '') : line;
}
