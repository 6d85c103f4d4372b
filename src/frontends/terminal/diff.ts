import { partsOfDiff } from '../../core/lib/diff-lines.ts';
import { revealed } from '../../core/lib/plain.ts';
import type { LineShape } from './palette.ts';
import { wrapped } from './width.ts';

/**
 * The lines of a unified diff, coloured and wrapped to `columns`. Nothing is left out: characters that a terminal would
 * obey or hide are shown as their code points.
 */
export function diffLines(diff: string, { columns, palette }: LineShape): string[] {
  return partsOfDiff(diff).flatMap(({ line, style }) => {
    // Marks within a coloured line would end its colour, so code points have none here.
    const lines = wrapped(revealed(line), columns);
    return style === null ? lines : lines.map(palette[style]);
  });
}
