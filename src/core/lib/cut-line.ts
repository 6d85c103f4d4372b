import { shorten } from './shorten.ts';

/** How much of a text is looked at: the text of an agent or a person may be megabytes long. */
const LOOKED_AT = 4000;

/** A text as one line of at most `characters` UTF-16 code units; null if it has none but white space. */
export function cutLine(text: string, characters: number): string | null {
  const line = text
    .trimStart()
    .slice(0, LOOKED_AT)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return line === '' ? null : shorten(line, characters);
}

/** The first line of a text that is not blank, at most `characters` UTF-16 code units of it; null if there is none. */
export function firstLine(text: string, characters: number): string | null {
  const [line = ''] = text
    .trimStart()
    .slice(0, LOOKED_AT)
    .split(/[\r\n]/, 1);
  return cutLine(line, characters);
}
