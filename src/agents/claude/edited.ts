/** The limits of what is worked out, in UTF-16 code units: of a result, and of all that is searched for it. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
const MAX_SEARCHED = 64 * 1024 * 1024;

/** One replacement of a text in a file. */
export interface Edit {
  old_string: string;
  new_string: string;
  replace_all?: boolean | null | undefined;
}

/**
 * The content of a file after some edits, each made on the result of the one before; `null` stands for no file. Null
 * where an edit does not fit: its text is not there, or is there several times and is to be replaced once. Null also
 * where that would be too much work: nothing else runs meanwhile.
 */
export function edited(before: string | null, edits: readonly Edit[]): string | null {
  let content = before;
  let searched = 0;
  for (const edit of edits) {
    searched += content?.length ?? 0;
    if (searched > MAX_SEARCHED) return null;
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
  const times = parts.length - 1;
  if (times === 0 || (times > 1 && !all)) return null;
  const length = content.length + times * (text.length - old.length);
  return length > MAX_CHARACTERS ? null : parts.join(text);
}
