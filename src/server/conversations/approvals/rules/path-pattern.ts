import path from 'node:path';
import type { Strictness } from './command-pattern.ts';
import { gapsIn } from './glob.ts';
import { isHidden } from './own-names.ts';

/** Whether an absolute path fits: `*` is any part of a name, `**` any number of names. Strict: `*` fits no hidden name. */
export function fitsPath(
  pattern: string,
  directory: string,
  file: string,
  strictness: Strictness,
): boolean {
  return fitsAnyPath(pattern, directory, [file], strictness);
}

/** Whether one of many files matches, by the rules of {@link fitsPath}. The pattern is parsed once. */
export function fitsAnyPath(
  pattern: string,
  directory: string,
  files: readonly string[],
  strictness: Strictness,
): boolean {
  const absolute = pattern.startsWith('/')
    ? pattern
    : path.posix.join('/', directory.replaceAll('*', STAR), pattern);
  const isStrict = strictness === 'strict';
  const runs = runsOf(absolute.split('/'));
  const rules: NameRules = {
    fits: (wanted, name) =>
      (!isStrict || wanted.startsWith('.') || !wanted.includes('*') || !isHidden(name)) &&
      gapsIn(wanted, name.replaceAll('*', STAR)) !== null,
    mayPass: (name) => name !== '' && !(isStrict && isHidden(name)),
  };
  return files.some((file) => file.length <= MAX_PATH && fitsNames(runs, file.split('/'), rules));
}

/** No file has a longer name. Characters. */
const MAX_PATH = 4096;

/** A `*` in a name stands for itself: as a character that no pattern and no path has. */
const STAR = '\u0000';

interface NameRules {
  fits: (wanted: string, name: string) => boolean;
  mayPass: (name: string) => boolean;
}

/** Whether the names fit the names of a pattern: each run of names between two `**` has its earliest position. */
function fitsNames(
  runs: readonly (readonly string[])[],
  names: readonly string[],
  rules: NameRules,
): boolean {
  const last = runs.length - 1;
  let at = 0;
  for (const [index, run] of runs.entries()) {
    // The first run begins with the path, and the last one ends with it.
    const latest = index === 0 ? 0 : names.length - run.length;
    let found = index === last ? latest : at;
    if (found < at || found > latest) return false;
    while (!run.every((wanted, offset) => rules.fits(wanted, names[found + offset] ?? '')))
      if (++found > latest || index === last) return false;
    if (!names.slice(at, found).every((name) => rules.mayPass(name))) return false;
    at = found + run.length;
  }
  return at === names.length;
}

function runsOf(pattern: readonly string[]): string[][] {
  const runs: string[][] = [[]];
  for (const name of pattern)
    if (name === '**') runs.push([]);
    else runs.at(-1)?.push(name);
  return runs;
}
