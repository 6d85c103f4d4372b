/** A text of at most so many characters; where it is longer, its end says so. */
export function shorten(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters - 1)}…` : text;
}
