/** Cuts a text to at most `characters` UTF-16 code units, between two characters; a text that was cut ends with "…". */
export function shorten(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text.slice(0, characters - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
