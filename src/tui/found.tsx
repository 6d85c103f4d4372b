import { Text } from 'ink';
import type { ReactNode } from 'react';

/** A text in which what is looked for stands out. */
export function Found({ text, search }: { text: string; search: string }): ReactNode {
  return parts(text, search).map(({ at, part, isFound }) => (
    <Text key={at} inverse={isFound}>
      {part}
    </Text>
  ));
}

interface Part {
  at: number;
  part: string;
  isFound: boolean;
}

/** What is between the places where it is found, and these, in turn. */
function parts(text: string, search: string): Part[] {
  const found: Part[] = [];
  const add = (at: number, end: number, isFound: boolean) => {
    if (end > at) found.push({ at, part: text.slice(at, end), isFound });
  };
  const lower = text.toLowerCase();
  const wanted = search.toLowerCase();
  let from = 0;
  // Lower case may be longer, as that of İ: then nothing stands out, rather than the wrong thing.
  if (wanted !== '' && lower.length === text.length)
    for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
      add(from, at, false);
      from = at + wanted.length;
      add(at, from, true);
    }
  add(from, text.length, false);
  return found;
}
