import { stripVTControlCharacters } from 'node:util';

/** Text of agents and processes, without what would move the cursor, change colours or write a clipboard. */
export function plain(text: string): string {
  // Sequences first, then the single control characters that are left, but for tab and line ends.
  return stripVTControlCharacters(text).replaceAll(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g,
    '',
  );
}
