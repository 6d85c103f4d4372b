import fs from 'node:fs';
import path from 'node:path';

const MOST = 50;

/**
 * Returns the texts that a text may become whose last word is `@` and the beginning of a path below a directory. A name of
 * a directory ends with a slash. Hidden names need their dot. None where the directory cannot be read.
 */
export function fileMatches(text: string, directory: string): string[] {
  const [, before, typed] = /^(.*(?:^|\s)@)(\S*)$/s.exec(text) ?? [];
  if (before === undefined || typed === undefined) return [];
  const at = typed.lastIndexOf('/') + 1;
  const [folder, begin] = [typed.slice(0, at), typed.slice(at)];
  return namesIn(path.resolve(directory, folder))
    .filter((name) => name.startsWith(begin) && (begin.startsWith('.') || !name.startsWith('.')))
    .slice(0, MOST)
    .map((name) => `${before}${folder}${name}`);
}

export function commonStart([first = '', ...others]: readonly string[]): string {
  let common = first;
  for (const one of others) while (!one.startsWith(common)) common = common.slice(0, -1);
  return common;
}

/** The names in a directory that can be written as one word, in their order. */
function namesIn(directory: string): string[] {
  try {
    const entries = fs.readdirSync(directory, { withFileTypes: true });
    return entries
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .filter((name) => !/[\s\p{Cc}\p{Cf}]/u.test(name))
      .toSorted();
  } catch {
    return [];
  }
}
