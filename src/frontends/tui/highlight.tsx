import { Text } from 'ink';
import type { ReactNode } from 'react';

/** A text with every match of a search inverted. */
export function Highlight({ text, search }: { text: string; search: string }): ReactNode {
  return partsOf(text, search).map(({ at, part, isMatch }) => (
    <Text key={at} inverse={isMatch}>
      {part}
    </Text>
  ));
}

interface Part {
  at: number;
  part: string;
  isMatch: boolean;
}

/** The matches and the texts between them, in order. */
function partsOf(text: string, search: string): Part[] {
  const parts: Part[] = [];
  const add = (at: number, end: number, isMatch: boolean) => {
    if (end > at) parts.push({ at, part: text.slice(at, end), isMatch });
  };
  const lower = text.toLowerCase();
  const wanted = search.toLowerCase();
  let from = 0;
  // Lower case may be longer, as that of İ. Positions in it are wrong then, so nothing is highlighted.
  if (wanted !== '' && lower.length === text.length)
    for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
      add(from, at, false);
      from = at + wanted.length;
      add(at, from, true);
    }
  add(from, text.length, false);
  return parts;
}
