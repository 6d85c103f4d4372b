/** Ids that a page shows, and those that the server has given in their place. */
export type Ids = Map<string, string>;

const id = /(?:[a-z]{2,4}_)?[0-9a-f]{32}|\b[0-9a-f]{8}\b/;

/** Text that differs from run to run, and the word that replaces it before a comparison. */
const values: [RegExp, string][] = [
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z| UTC)?/g, 'TIME'],
  [/\b\d{4}-\d\d-\d\d\b/g, 'DATE'],
  [/\b\d\d:\d\d(:\d\d(\.\d+)?)?\b/g, 'TIME'],
  [/\b1[789]\d{11}\b/g, 'TIME'],
  [/(?<=127\.0\.0\.1:|localhost:)\d+/g, 'PORT'],
  [/\b(pid|stopped) +\d+/g, '$1 PID'],
  [/\b\d+(\.\d+)? ?(B|KiB|MiB|GiB|bytes)\b/g, 'SIZE'],
  [/\b(\d{1,4}(\.\d+)?(ms|s|m|h|d|w)\b|now\b)( \d+(s|m|h))?/g, 'AGE'],
  [/^ *\d+(?= {2}TIME)/gm, 'SEQ'],
  [/("?(?:seq|after_seq|uptime_ms)"?[:=] ?)\d+/g, '$1SEQ'],
  [/\bcadre_[\w-]{43}/g, 'cadre_SECRET'],
  [/\bseq \d+/g, 'seq SEQ'],
  [/\b[0-9a-f]{40}\b|\b(?=[a-f]*\d)[0-9a-f]{7}\b/g, 'COMMIT'],
];

/** The same for spaces: a column is as wide as its longest cell. */
const spaces: [RegExp, string][] = [
  [/^ +/gm, ''],
  [/ +$/gm, ''],
  [/ {2,}/g, '  '],
];

/** Returns a text in which every value that differs from run to run is masked, except ids. */
export function masked(text: string): string {
  return [...values, ...spaces]
    .reduce((masked, [what, word]) => masked.replaceAll(what, word), text)
    .trim();
}

/** The same without ids: to show a difference. */
export function withoutIds(text: string): string {
  return masked(text).replaceAll(new RegExp(id, 'g'), 'ID');
}

/** A part of a line, with the key by which it is compared. */
export interface Piece {
  text: string;
  key: string;
  kind: 'id' | 'value' | 'word' | 'space' | 'sign';
}

/** Splits a line into ids, masked values, words, runs of spaces and single other characters. */
export function piecesOf(line: string): Piece[] {
  const characters = Array.from(line, (text): Piece => ({
    text,
    key: text,
    kind: /[\p{L}\p{N}_]/u.test(text) ? 'word' : text === ' ' ? 'space' : 'sign',
  }));
  const withValues = values.reduce(
    (pieces, [what, word]) =>
      joined(pieces, what, 'value', (match) =>
        word.replaceAll(/\$(\d)/g, (_, group: string) => match[Number(group)] ?? ''),
      ),
    characters,
  );
  const withIds = joined(withValues, new RegExp(id, 'g'), 'id', ([name]) =>
    name.replace(/[0-9a-f]+$/, (hex) => `ID ${hex.length}`),
  );
  return withRuns(withIds);
}

/** Joins the characters of a word, and spaces in a row. */
function withRuns(pieces: readonly Piece[]): Piece[] {
  const runs: Piece[] = [];
  for (const piece of pieces) {
    const last = runs.at(-1);
    if (last?.kind === piece.kind && ['word', 'space'].includes(piece.kind)) {
      last.text += piece.text;
      last.key = piece.kind === 'space' ? ' ' : last.text;
    } else runs.push({ ...piece });
  }
  return runs;
}

/** Joins the pieces that a pattern covers, as it is found in their keys. */
function joined(
  pieces: readonly Piece[],
  pattern: RegExp,
  kind: Piece['kind'],
  keyOf: (match: RegExpExecArray) => string,
): Piece[] {
  const left = [...pieces];
  const found: Piece[] = [];
  let at = 0;
  const takeUntil = (end: number) => {
    const taken: Piece[] = [];
    for (let piece = left[0]; piece && at < end; piece = left[0]) {
      at += piece.key.length;
      taken.push(piece);
      left.shift();
    }
    return taken;
  };
  for (const match of pieces
    .map(({ key }) => key)
    .join('')
    .matchAll(pattern)) {
    found.push(...takeUntil(match.index));
    const covered = takeUntil(match.index + match[0].length);
    const text = covered.map((piece) => piece.text).join('');
    if (covered.length > 0) found.push({ text, key: keyOf(match), kind });
  }
  return [...found, ...left];
}

/**
 * Whether a command wrote what a page shows. In the page, `…` stands for anything in its line, and for any lines where it
 * stands alone. An id may be another one, but the same one each time: the ids of the page are learned.
 */
export function isShown(shown: string, written: string, ids: Ids): boolean {
  const expected = masked(shown);
  const found = patternOf(expected).exec(`${masked(written)}\n`);
  if (!found) return false;
  const names = expected.match(new RegExp(id, 'g')) ?? [];
  return names.every((name, at) => learn(ids, name, found[at + 1] ?? ''));
}

/** A command as it is typed: with the ids of this run in place of those that the page shows. */
export function withIds(command: string, ids: Ids): string {
  return [...ids]
    .toSorted(([one], [other]) => other.length - one.length)
    .reduce((text, [shown, real]) => text.replaceAll(shown, real), command);
}

function patternOf(expected: string): RegExp {
  const source = expected
    .split('\n')
    .map((line) => (line === '…' ? '(?:.*\\n)*?' : `${escapedLine(line)}\\n`))
    .join('');
  return new RegExp(`^${source}$`);
}

function escapedLine(line: string): string {
  return line
    .split(new RegExp(`(${id.source})`))
    .map((part, at) =>
      at % 2 === 1
        ? `(${part.replace(/[0-9a-f]+$/, (hex) => `[0-9a-f]{${hex.length}}`)})`
        : part.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`).replaceAll('…', '.*'),
    )
    .join('');
}

/** Records the id of this run for an id of the page. Returns false if the page has one id for two things. */
export function learn(ids: Ids, shown: string, real: string): boolean {
  const known = ids.get(shown);
  ids.set(shown, real);
  // The ends of long ids are their short names.
  if (shown.length > 8) ids.set(shown.slice(-8), real.slice(-8));
  return known === undefined || known === real;
}
