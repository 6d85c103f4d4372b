import { expect, test } from 'vitest';
import {
  type Editor,
  emptyEditor,
  end,
  home,
  inserted,
  left,
  right,
  visibleLines,
  visiblePart,
  vertically,
  withoutBefore,
  withoutLineBefore,
  withoutUnder,
  withoutWord,
} from '../../../src/frontends/tui/forms/editor.ts';

const written = (text: string) => inserted(emptyEditor, text);

/** Returns the text with a mark at the cursor. */
const marked = ({ text, cursor }: Editor) => `${text.slice(0, cursor)}|${text.slice(cursor)}`;

test('A pasted text keeps its lines, and nothing in it is a command.', () => {
  const pasted = inserted(written('a'), 'one\r\ntwo\rthree\u001b[31m\tred\u0007');
  expect(marked(pasted)).toBe('aone\ntwo\nthree    red|');
});

test('The editor moves and deletes by whole graphemes.', () => {
  const family = written('a👨‍👩‍👧漢é');
  expect(marked(left(left(family)))).toBe('a👨‍👩‍👧|漢é');
  expect(marked(withoutBefore(left(left(family))))).toBe('a|漢é');
  expect(marked(withoutUnder(left(left(family))))).toBe('a👨‍👩‍👧|é');
  expect(marked(right(home(family)))).toBe('a|👨‍👩‍👧漢é');
  expect(marked(withoutWord(written('two words ')))).toBe('two |');
});

test('The editor moves to the start and end of a line, and to the same column of the line above.', () => {
  const lines = written('first\nlast one');
  expect(marked(home(lines))).toBe('first\n|last one');
  const up = vertically(lines, -1, 40);
  expect(up && marked(up)).toBe('first|\nlast one');
  expect(up && vertically(up, -1, 40)).toBeNull();
  expect(marked(end(home(lines)))).toBe('first\nlast one|');
  const empty = { text: '\nlast', cursor: 0 };
  expect(marked(home(empty))).toBe('|\nlast');
  expect(marked(withoutLineBefore(empty))).toBe('|\nlast');
});

test('The editor shows no line that is wider than its columns, also with wide characters.', () => {
  const { lines, row } = visibleLines(written('漢字漢字 and'), 6);
  expect(lines.map(({ text }) => text)).toEqual(['漢字', '漢字 ', 'and']);
  expect(row).toBe(2);
  expect(visiblePart(written('/home/ada/shop'), 6).text).toBe('/shop');
  expect(visiblePart(written('ab'), 6).text).toBe('ab');
});
