import { type Style, withoutColors } from './palette.ts';
import { between, widthOf } from './width.ts';

/** The indexes of the lines that contain a text, in whatever case. No line contains the empty text. */
export function matchingLines(lines: readonly string[], search: string): number[] {
  if (search === '') return [];
  return lines.flatMap((line, at) =>
    positions(withoutColors(line), search).length > 0 ? [at] : [],
  );
}

/** A line with every match of a search in a style; the colours of the rest stay. */
export function withMatches(line: string, search: string, style: Style): string {
  const text = withoutColors(line);
  const found = positions(text, search);
  if (found.length === 0) return line;
  const columnAt = (at: number) => widthOf(text.slice(0, at));
  let shown = '';
  let from = 0;
  for (const at of found) {
    const [begin, end] = [columnAt(at), columnAt(at + search.length)];
    // The match loses its own colours: some of them would end the style.
    shown += between(line, from, begin) + style(text.slice(at, at + search.length));
    from = end;
  }
  shown += between(line, from, widthOf(text));
  // A match may be a part of one character on the screen, which cannot be cut.
  return withoutColors(shown) === text ? shown : line;
}

/** Where the matches begin, as indexes of UTF-16 code units; matches do not overlap. */
function positions(text: string, search: string): number[] {
  const lower = text.toLowerCase();
  const wanted = search.toLowerCase();
  // Lower case may be longer, for example of İ. Its positions would be wrong, so nothing is found there.
  if (wanted === '' || lower.length !== text.length) return [];
  const found: number[] = [];
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length))
    found.push(at);
  return found;
}
