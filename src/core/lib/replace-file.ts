import fs from 'node:fs';
import path from 'node:path';
import { newUuid } from './ids.ts';
import { codeOf } from './system-error.ts';

/**
 * Creates a file for its owner alone; returns false if there is a file, or a link of another user. The file has its whole
 * text from the beginning, so a full disk or a kill leaves no empty file.
 */
export function createFile(file: string, text: string, { flush = false } = {}): boolean {
  if (fs.lstatSync(file, { throwIfNoEntry: false })) return false;
  const draft = draftOf(file);
  try {
    fs.writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush });
    fs.linkSync(draft, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (!WITHOUT_LINKS.has(codeOf(error))) throw error;
    fs.renameSync(draft, file);
    return true;
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** The errors of a file system that has no hard links, and of one that refuses a link to a file of another user. */
export const WITHOUT_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Replaces a file by one rename, by default readable for its owner alone; with `flush` the text is on disk before the
 * rename.
 */
export function replaceFile(
  file: string,
  text: string,
  { flush = false, mode = 0o600 } = {},
): void {
  const draft = draftOf(file);
  try {
    fs.writeFileSync(draft, text, { mode, flag: 'wx', flush });
    fs.renameSync(draft, file);
  } catch (error) {
    fs.rmSync(draft, { force: true });
    throw error;
  }
}

/** Returns an unpredictable name, because in a shared directory another user could place a link at any other. */
function draftOf(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}.${newUuid()}.part`);
}

/** Removes the drafts beside a file that are older than the file: processes that were killed have left them. */
export function removeLeftDrafts(file: string): void {
  const directory = path.dirname(file);
  const begin = `.${path.basename(file)}.`;
  const { mtimeMs } = fs.statSync(file);
  for (const name of fs.readdirSync(directory)) {
    if (!name.startsWith(begin) || !/^[\da-f-]{36}\.part$/.test(name.slice(begin.length))) continue;
    const draft = path.join(directory, name);
    const found = fs.lstatSync(draft, { throwIfNoEntry: false });
    if (found?.isFile() && found.mtimeMs < mtimeMs) fs.rmSync(draft, { force: true });
  }
}
