import type { SearchHit, SearchIndex } from '../../api/search.ts';
import { oneLine } from '../../core/lib/plain.ts';
import type { Layout } from './layout.ts';
import { ago, mebibytes, shortId } from './output.ts';

const KIND_COLUMNS = 6;

/** What was found: what it is of, the text, and the command that shows all of its turn. */
export function hitsText(
  hits: readonly SearchHit[],
  { now, layout }: { now: number; layout: Layout },
): string {
  return hits.map((hit) => hitText(hit, now, layout)).join('\n');
}

function hitText(hit: SearchHit, now: number, { palette }: Layout): string {
  const { kind, session_title: title, session_id, created_at, node } = hit;
  const of = [
    palette.strong(title === null ? `session ${shortId(session_id)}` : oneLine(title)),
    ...(typeof node === 'string' ? [oneLine(node)] : []),
  ];
  const head = `${ago(created_at, now).padEnd(4)} ${kind.padEnd(KIND_COLUMNS)} ${of.join('  ')}`;
  return `${head}\n  ${marked(hit, palette.found)}\n  ${palette.faint(wayTo(hit))}\n`;
}

/** The command that shows a hit with what is around it. */
function wayTo({ session_id, turn_id }: SearchHit): string {
  const show = `cadre sessions show ${session_id}`;
  return turn_id === null ? show : `${show} --turn ${turn_id}`;
}

/** The text with what was found in it in a style. */
function marked({ text, marks }: SearchHit, style: (text: string) => string): string {
  let line = '';
  let at = 0;
  for (const { start, end } of marks) {
    line += oneLineOf(text.slice(at, start)) + style(oneLineOf(text.slice(start, end)));
    at = end;
  }
  return line + oneLineOf(text.slice(at));
}

/** A part of a line, which keeps its spaces. */
function oneLineOf(text: string): string {
  const inner = oneLine(text);
  if (inner === '') return text === '' ? '' : ' ';
  return `${/^\s/.test(text) ? ' ' : ''}${inner}${/\s$/.test(text) ? ' ' : ''}`;
}

/** What an index does not have, for people; null where it has everything. */
export function behindText({ state, done, back_to, detail }: SearchIndex): string | null {
  if (state === 'ready' || state === 'off') return null;
  if (state === 'waiting')
    return `the search index is not up to date: ${detail ?? 'it cannot be written'}`;
  const from = back_to === null ? '' : `; texts before ${dateOf(back_to)} are not found yet`;
  return `the search index is being built (${percent(done)} done)${from}`;
}

/** The state of an index for people. */
export function indexDetails({ state, documents, done, back_to, bytes, detail }: SearchIndex) {
  return {
    state,
    documents,
    done: percent(done),
    ...(back_to === null ? {} : { 'back to': dateOf(back_to) }),
    size: mebibytes(bytes),
    ...(detail === null ? {} : { detail }),
  };
}

function percent(part: number): string {
  return `${Math.floor(part * 100)} %`;
}

function dateOf(at: number): string {
  return new Date(at).toLocaleString('sv-SE');
}
