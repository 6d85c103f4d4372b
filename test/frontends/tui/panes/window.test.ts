import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Blocks,
  topOfEnd,
  linesFrom,
  moved,
  type LinePosition,
} from '../../../../src/frontends/tui/panes/reader.ts';

const sizes = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 12 });
const rows = fc.integer({ min: 1, max: 10 });

/** Returns blocks with these numbers of lines. Each line is its own number in the whole text. */
function blocksOf(counts: readonly number[]): Blocks & { all: string[] } {
  let next = 0;
  const blocks = counts.map((count) => Array.from({ length: count }, () => String(next++)));
  return { count: blocks.length, linesOf: (at) => blocks[at] ?? [], all: blocks.flat() };
}

/** Returns the number of lines before a position. */
function before(blocks: Blocks, { at, line }: LinePosition): number {
  let sum = line;
  for (let i = 0; i < at; i++) sum += blocks.linesOf(i).length;
  return sum;
}

test('The window shows the last lines at the end.', () => {
  fc.assert(
    fc.property(sizes, rows, (counts, height) => {
      const blocks = blocksOf(counts);
      const shown = linesFrom(blocks, topOfEnd(blocks, height), height).map(({ text }) => text);
      expect(shown).toEqual(blocks.all.slice(-height));
    }),
  );
});

test('The window moves by lines, not by blocks, stays within the text, and reports its end.', () => {
  const steps = fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 20 });
  fc.assert(
    fc.property(sizes, rows, steps, (counts, height, all) => {
      const blocks = blocksOf(counts);
      const last = Math.max(0, blocks.all.length - height);
      let top: LinePosition = topOfEnd(blocks, height);
      let index = last;
      for (const by of all) {
        const next = moved(blocks, top, by, height);
        index = Math.max(0, Math.min(last, index + by));
        expect(next === null).toBe(index === last);
        top = next ?? topOfEnd(blocks, height);
        expect(before(blocks, top)).toBe(index);
        expect(linesFrom(blocks, top, height).map(({ text }) => text)).toEqual(
          blocks.all.slice(index, index + height),
        );
      }
    }),
  );
});
