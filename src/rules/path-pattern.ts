import path from 'node:path';

/** Whether an absolute path fits a pattern: `*` is any part of a name, `**` any number of names, hidden ones too. */
export function fitsPath(pattern: string, directory: string, file: string): boolean {
  const absolute = pattern.startsWith('/')
    ? pattern
    : path.posix.join('/', escaped(directory), pattern);
  return (
    file.length <= MAX_PATH &&
    expressionOf(absolute.replaceAll(/(?:\/\*\*)+(?=\/|$)/g, '/**')).test(file)
  );
}

/** No file has a longer name, and matching one would take long. Characters. */
const MAX_PATH = 4096;

/** Whether a directory is another one or below it; both are real paths. */
export function isInside(directory: string, outer: string): boolean {
  return directory === outer || directory.startsWith(outer.endsWith('/') ? outer : `${outer}/`);
}

/** A `*` in the name of a directory stands for itself: no pattern can write it, so it is a character that no pattern has. */
const STAR = '\u0000';

function escaped(directory: string): string {
  return directory.replaceAll('*', STAR);
}

function expressionOf(pattern: string): RegExp {
  const source = pattern
    .split(/(\/\*\*(?=\/|$)|\*)/)
    .map((part) => {
      if (part === '/**') return '(?:/[^/]+)*';
      if (part === '*') return '[^/]*';
      return part.replaceAll(/[\\^$.+?()[\]{}|/]/g, '\\$&').replaceAll(STAR, '\\*');
    })
    .join('');
  return new RegExp(`^${source}$`, 'su');
}
