/** One replacement of a text in a file. */
export interface Edit {
  old_string: string;
  new_string: string;
  replace_all?: boolean | null | undefined;
}

/**
 * The content of a file after some edits, each made on the result of the one before; `null` stands for no file. Null
 * where an edit does not fit: its text is not there, or is there several times and is to be replaced once.
 */
export function edited(before: string | null, edits: readonly Edit[]): string | null {
  let content = before;
  for (const edit of edits) {
    content = afterOne(content ?? '', edit);
    if (content === null) return null;
  }
  return content;
}

/** An edit of an empty text writes a file that is new or empty. */
function afterOne(
  content: string,
  { old_string: old, new_string: text, replace_all: all }: Edit,
): string | null {
  if (old === '') return content === '' ? text : null;
  const parts = content.split(old);
  const isOnce = parts.length === 2;
  return isOnce || (all && parts.length > 2) ? parts.join(text) : null;
}
