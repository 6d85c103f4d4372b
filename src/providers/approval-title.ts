/** A title is at most this long; the request beside it holds the whole. */
const TITLE_CHARACTERS = 200;
/** Of a longer one so much of its end is kept: what matters of a command may stand there. */
const END_CHARACTERS = 60;

/**
 * What a person reads of a request: the agent's own title, and after it what the tool would do, unless the title says
 * that already.
 */
export function approvalTitle(title: string, detail: string | null): string {
  if (detail === null || detail.trim() === '' || title.includes(detail)) return cutTitle(title);
  return cutTitle(`${title}: ${detail}`);
}

/** A title without its middle where it is longer than 200 characters. */
export function cutTitle(title: string): string {
  if (title.length <= TITLE_CHARACTERS) return title;
  // Not in the middle of a character.
  const start = title.slice(0, TITLE_CHARACTERS - END_CHARACTERS).replace(/[\ud800-\udbff]$/, '');
  const end = title.slice(-END_CHARACTERS).replace(/^[\udc00-\udfff]/, '');
  return `${start} … ${end}`;
}
