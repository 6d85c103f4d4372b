import type { Span } from './matching.ts';

/** A part of a text as one line, with the places of what was found in it, in UTF-16 code units. */
export interface Snippet {
  text: string;
  marks: { start: number; end: number }[];
}

/** The length of the part that is shown, and how much of it stands before the first place, in UTF-16 code units. */
const LENGTH = 200;
const BEFORE = 40;
/** So many places are tried as the first one that is shown. */
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

/** The place after which most terms stand close by. */
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

/** The part around a place; it begins and ends between words where a space is near. */
function windowAt(text: string, place: number): { from: number; to: number } {
  let from = Math.max(0, place - BEFORE);
  if (from > 0) {
    const space = text.slice(from, place).search(/\s/);
    from = space < 0 ? whole(text, from) : from + space + 1;
  }
  let to = Math.min(text.length, from + LENGTH);
  if (to < text.length) {
    const space = text.slice(to - BEFORE, to).search(/\s\S*$/);
    to = space < 0 ? whole(text, to) : to - BEFORE + space;
  }
  return { from, to: Math.max(to, place) };
}

/** A place that cuts no surrogate pair. */
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
