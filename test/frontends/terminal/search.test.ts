import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { plain } from '../../../src/core/lib/plain.ts';
import { matchingLines, withMatches } from '../../../src/frontends/terminal/search.ts';
import { colors, text, withoutColors } from './texts.ts';

test('A search ignores case and colours, and marks every match.', () => {
  const { bad, found } = colors;
  const lines = ['nothing', `a ${bad('red nee')}dle`, 'Needle, needle'];
  expect(matchingLines(lines, 'needle')).toEqual([1, 2]);
  expect(matchingLines(lines, '')).toEqual([]);
  expect(withMatches('Needle, needle', 'needle', found)).toBe(
    `${found('Needle')}, ${found('needle')}`,
  );
  expect(withMatches(`a ${bad('red nee')}dle`, 'needle', found)).toBe(
    `a ${bad('red ')}${found('needle')}`,
  );
  expect(withMatches('漢字 needle 漢字', 'needle', found)).toBe(`漢字 ${found('needle')} 漢字`);
});

test('A search does not change the text.', () => {
  fc.assert(
    fc.property(text, fc.constantFrom('a', '字', ' ', 'e\u0301', 'long'), (given, search) => {
      const line = plain(given).replaceAll(/\s+/g, ' ');
      expect(withoutColors(withMatches(line, search, colors.found))).toBe(line);
    }),
  );
});
