/** Cuts a text to at most `characters` UTF-16 code units; a text that was cut ends with "…". */
export function shorten(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters - 1)}…` : text;
}
