import { revealed } from '../../core/lib/plain.ts';
import type { Palette, Style } from './palette.ts';
import { wrapped } from './width.ts';

/** Where a line of a unified diff belongs: to a file's heading, or to a hunk with so many lines still to come. */
interface LinesToCome {
  old: number;
  new: number;
}

const outside: LinesToCome = { old: 0, new: 0 };
const HUNK = /^@@+ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/**
 * The lines of a unified diff, coloured and wrapped to `columns`. Nothing is left out: characters that a terminal would
 * obey or hide are shown as their code points.
 */
export function diffLines(
  diff: string,
  { columns, palette }: { columns: number; palette: Palette },
): string[] {
  let place = outside;
  return diff
    .replace(/\n$/, '')
    .split('\n')
    .flatMap((line) => {
      const style = styleOf(line, place, palette);
      place = after(line, place);
      // Marks within a coloured line would end its colour, so code points have none here.
      return wrapped(revealed(line), columns).map(style);
    });
}

/** Whether a text of a tool is a unified diff. */
export function isDiff(text: string): boolean {
  return /^(?:diff --git |--- .*\n\+\+\+ |@@ -\d)/m.test(text);
}

/** A line within a hunk is what its first character says, whatever follows: a removed line may begin with `--`. */
function styleOf(line: string, place: LinesToCome, palette: Palette): Style {
  if (!isWithin(place)) {
    if (HUNK.test(line)) return palette.accent;
    if (/^(?:---|\+\+\+|diff |index )/.test(line)) return palette.strong;
  }
  if (line.startsWith('\\')) return palette.faint;
  if (line.startsWith('+')) return palette.added;
  return line.startsWith('-') ? palette.removed : same;
}

function after(line: string, place: LinesToCome): LinesToCome {
  const hunk = HUNK.exec(line);
  if (hunk && !isWithin(place)) return { old: Number(hunk[1] ?? 1), new: Number(hunk[2] ?? 1) };
  if (!isWithin(place) || line.startsWith('\\')) return place;
  return {
    old: place.old - Number(!line.startsWith('+')),
    new: place.new - Number(!line.startsWith('-')),
  };
}

function isWithin({ old, new: added }: LinesToCome): boolean {
  return old > 0 || added > 0;
}

const same: Style = (text) => text;
