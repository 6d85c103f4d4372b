import { align, type Pair } from './align.ts';
import { type Ids, isShown, learn, masked, type Piece, piecesOf } from './masks.ts';

/**
 * Returns the output that a page shows after an update. It has the words and lines that the command wrote. The ids, times and
 * other masked values of the page stay where the command wrote others in their place, and so do its cuts (`…`) where the
 * text around them is still there.
 */
export function mergedOutput(shown: string, written: string, ids: Ids): string {
  const before = shown === '' ? [] : shown.split('\n');
  const now = linesOf(written);
  const pairs = align(before, now, {
    isCut: (line) => line.trim() === '…',
    alone: () => 1,
    together: distance,
  });
  const lines = pairs.flatMap(([one, other], at) => {
    if (one?.trim() === '…') return pairs[at - 1]?.[0] === one ? [] : [one];
    if (other === null) return [];
    return [one === null ? asInPage(other, ids) : mergedLine(one, other, ids)];
  });
  const merged = lines.join('\n');
  // A cut in the wrong place may hide what is not there.
  if (isShown(merged, written, new Map(ids))) return merged;
  return now.map((line) => asInPage(line, ids)).join('\n');
}

function linesOf(written: string): string[] {
  const lines = written.split('\n').map((line) => line.trimEnd());
  const isText = (line: string) => line !== '';
  return lines.slice(lines.findIndex(isText), lines.findLastIndex(isText) + 1);
}

/** The cost of one line in place of another: 0 where they differ in masked values only, less than 1 in any case. */
function distance(before: string, now: string): number {
  if (isShown(before, now, new Map())) return 0;
  const [words, others] = [wordsOf(before), wordsOf(now)];
  const common = [...words].filter((word) => others.has(word)).length;
  return 0.95 - (1.3 * common) / (words.size + others.size);
}

function wordsOf(line: string): Set<string> {
  return new Set(masked(line).split(/\W+/));
}

/** Merges a line of a page with the one that the command wrote in its place. */
function mergedLine(before: string, now: string, ids: Ids): string {
  // Without columns, the line is as before.
  if (!/\S {2}/.test(now) && isShown(before, now, ids)) return before;
  let merged = '';
  // By how many characters the merged line is longer than the written one: columns keep their places.
  let longer = 0;
  let cut: Piece | null = null;
  for (const [one, other] of pairsOf(before, now, ids)) {
    if (!other) continue;
    const isCut = one !== null && one.key !== other.key;
    const text = isCut ? (cut === one ? '' : '…') : mergedText(one, other, ids, longer);
    cut = isCut ? one : null;
    merged += text;
    longer += text.length - other.text.length;
  }
  return merged.trimEnd();
}

/** The pieces of two lines that belong together. A cut of the page that has no neighbour any more is not among them. */
function pairsOf(before: string, now: string, ids: Ids): Pair<Piece>[] {
  const [pieces, written] = [piecesOf(before), piecesOf(now)];
  const aligned = (isCut: (piece: Piece) => boolean) =>
    align(pieces, written, {
      isCut,
      alone: ({ kind }) => ({ id: 3, value: 2, word: 1, sign: 0.5, space: 0.1 })[kind],
      together: (one, other) => (isSame(one, other, ids) ? 0 : Infinity),
    });
  // A command may cut its lines itself.
  const isCut = ({ key }: Piece) => key === '…' && !now.includes('…');
  const pairs = aligned(isCut);
  const paired = new Set(pairs.flatMap(([one, other]) => (other ? [one] : [])));
  const texts = pieces.filter(({ kind }) => kind !== 'space');
  const hasNeighbour = (cut: Piece) => {
    const at = texts.indexOf(cut);
    return [texts[at - 1], texts[at + 1]].some((one) => one !== undefined && paired.has(one));
  };
  return texts.filter(isCut).every(hasNeighbour) ? pairs : aligned(() => false);
}

function mergedText(before: Piece | null, now: Piece, ids: Ids, longer: number): string {
  if (now.kind === 'space') {
    const isGap = now.text.length > 1;
    return isGap ? ' '.repeat(Math.max(2, now.text.length - longer)) : now.text;
  }
  if (!before) return asInPage(now.text, ids);
  if (before.kind === 'id') learn(ids, before.text, now.text);
  return before.text;
}

/** Whether a piece of a page and one that was written are equal, or are the same id or masked value of two runs. */
function isSame(before: Piece, now: Piece, ids: Ids): boolean {
  if (before.key !== now.key || before.kind !== now.kind) return false;
  if (before.kind !== 'id') return true;
  const known = ids.get(before.text);
  return known === undefined ? idInPage(now.text, ids) === undefined : known === now.text;
}

/** Returns a text in which the ids of this run are replaced by the ids of the page. New ids are remembered. */
function asInPage(written: string, ids: Ids): string {
  return piecesOf(written)
    .map(({ kind, text }) => {
      if (kind !== 'id') return text;
      const name = idInPage(text, ids) ?? text;
      learn(ids, name, text);
      return name;
    })
    .join('');
}

/** Returns the id of a page for one of this run; for a long id of which the page has the short name, one that ends with it. */
function idInPage(real: string, ids: Ids): string | undefined {
  const nameOf = (id: string) => [...ids].find(([, other]) => other === id)?.[0];
  const short = real.length > 8 ? nameOf(real.slice(-8)) : undefined;
  return nameOf(real) ?? (short && real.slice(0, -8) + short);
}
