import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../errors.ts';
import { readSmallFile } from '../lib/foreign-file.ts';

const README = `This directory belongs to cadre. While a server runs, open events.cadre with nothing else,
and never for writing: another program would delete the log under it.
`;
const MARK = 'This directory belongs to cadre';
/** What an operator may have put into a new directory: what the server reads, and what a file system brings along. */
const BROUGHT = new Set(['auth', 'config.toml', 'lost+found']);
/** What the server itself makes or opens there. A link may stand for a directory, if it is the user's own. */
const FILES = /^(README|lock|server\.json|events\.cadre.*)$/;
const DIRECTORIES = /^(auth|blobs|logs|scratch|worktrees)$/;

/**
 * Makes a directory that of a server: its user's alone, with a README. One that is there already has to be empty, or
 * a server's, and of this user, with nothing of another user in it. Throws `invalid` for every other, with nothing
 * changed: it may be shared, and what lies in it may have been put there by others.
 */
export function prepareDirectory(directory: string): void {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  const objection = objectionTo(directory);
  if (objection !== null)
    throw new AppError(
      'invalid',
      `the data directory ${directory} ${objection}: name one of your own with --data-dir, which is made where there is none`,
    );
  if ((fs.statSync(directory).mode & 0o077) !== 0) fs.chmodSync(directory, 0o700);
  try {
    fs.writeFileSync(path.join(directory, 'README'), README, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Why a directory cannot be a server's, or null. */
function objectionTo(directory: string): string | null {
  const link = fs.lstatSync(directory);
  const there = fs.statSync(directory);
  if (!there.isDirectory()) return 'is no directory';
  if (isForeign(link) || isForeign(there)) return `belongs to another user (uid ${there.uid})`;
  if ((there.mode & 0o002) !== 0) return 'may be written by everybody';
  const names = fs.readdirSync(directory);
  const strangers = names.filter((name) => !BROUGHT.has(name));
  if (strangers.length > 0 && !isOurs(directory))
    return `holds ${strangers[0]}${strangers.length > 1 ? ` and ${strangers.length - 1} more` : ''}, and is not one of cadre`;
  for (const name of names) {
    const wrong = wrongWith(directory, name);
    if (wrong !== null) return wrong;
  }
  return null;
}

function isOurs(directory: string): boolean {
  try {
    if (fs.lstatSync(path.join(directory, 'events.cadre')).isFile()) return true;
  } catch {
    // It may have been stopped before there was one.
  }
  try {
    const file = path.join(directory, 'README');
    return (
      fs.lstatSync(file).isFile() && readSmallFile(file, { maxBytes: 4096 }).text.startsWith(MARK)
    );
  } catch {
    return false;
  }
}

/** What is wrong with something that lies in the directory, or null. */
function wrongWith(directory: string, name: string): string | null {
  if (name === 'lost+found') return null;
  const file = path.join(directory, name);
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  if (!found) return null;
  if (isForeign(found)) return `holds ${name}, which belongs to another user (uid ${found.uid})`;
  if (FILES.test(name) && !found.isFile()) return `holds ${name}, which is no regular file`;
  const leadsTo = DIRECTORIES.test(name) ? fs.statSync(file, { throwIfNoEntry: false }) : null;
  if (leadsTo !== null && !leadsTo?.isDirectory()) return `holds ${name}, which is no directory`;
  return null;
}

function isForeign({ uid }: fs.Stats): boolean {
  return process.geteuid !== undefined && uid !== process.geteuid();
}
