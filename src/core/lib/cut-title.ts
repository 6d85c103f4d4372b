const TITLE_CHARACTERS = 200;
/** So much of the end of a longer title is kept: what matters of a command may stand there. */
const END_CHARACTERS = 60;

/** A title without its middle where it has more than 200 UTF-16 code units. */
export function cutTitle(title: string): string {
  if (title.length <= TITLE_CHARACTERS) return title;
  // The cut does not split a surrogate pair.
  const start = title.slice(0, TITLE_CHARACTERS - END_CHARACTERS).replace(/[\ud800-\udbff]$/, '');
  const end = title.slice(-END_CHARACTERS).replace(/^[\udc00-\udfff]/, '');
  return `${start} … ${end}`;
}
