import fs from 'node:fs';
import path from 'node:path';
import { AppError, invalidError } from '../../api/errors.ts';
import { readSmallFile } from '../lib/foreign-file.ts';
import { makeDirectory } from '../lib/make-directory.ts';
import { codeOf, isNoRoom } from '../lib/system-error.ts';
import { HISTORY_FILE } from '../lib/prompt-history.ts';
import { createFile } from '../lib/replace-file.ts';

const README = `This directory belongs to cadre. While a server is running, do not open events.cadre with other
programs. Never open it for writing: another program would delete the write-ahead log of the server.
`;
const MARK = 'This directory belongs to cadre';
/** Names that may be in a new directory: files that the operator, a client or the Finder of macOS provides, and lost+found. */
const BROUGHT = new Set([
  'auth',
  'callers',
  'config.toml',
  HISTORY_FILE,
  'lost+found',
  '.DS_Store',
]);
/** Names that the server creates there. A directory may be a symbolic link of the same user. */
const FILES =
  /^(README|lock|stopped|server\.json|serve\.log(\.1)?|prompts\.jsonl|events\.cadre.*)$/;
const DIRECTORIES = /^(auth|blobs|callers|logs|sandbox|scratch|worktrees)$/;

/**
 * Prepares a data directory: with mode 0700 and a README. A directory that exists has to belong to this user, to be
 * empty or a data directory, and to hold nothing of another user. Throws `invalid` for any other and changes nothing in it,
 * because other users may share it and may have placed files there.
 */
export function prepareDirectory(directory: string): void {
  makeDirectory(directory);
  const objection = objectionTo(directory);
  if (objection !== null)
    throw invalidError(
      `cannot use ${directory} as the data directory, because it ${objection}: choose another directory, new or existing, with --data-dir`,
    );
  if ((fs.statSync(directory).mode & 0o077) !== 0) fs.chmodSync(directory, 0o700);
  createFile(path.join(directory, 'README'), README);
}

/** Why a directory cannot be a data directory; null where it can. */
function objectionTo(directory: string): string | null {
  const link = fs.lstatSync(directory);
  const there = fs.statSync(directory);
  if (!there.isDirectory()) return 'is not a directory';
  if (isForeign(link) || isForeign(there)) return `belongs to another user (uid ${there.uid})`;
  if ((there.mode & 0o002) !== 0) return 'is writable for all users';
  const names = fs.readdirSync(directory);
  const strangers = names.filter((name) => !BROUGHT.has(name));
  if (strangers.length > 0 && !isOurs(directory))
    return `contains ${strangers[0]}${strangers.length > 1 ? ` and ${strangers.length - 1} more` : ''}, and is not a data directory of cadre`;
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
    // A server that was stopped early leaves a README without a store.
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

/** Why an entry of the directory is refused; null where it is not. */
function wrongWith(directory: string, name: string): string | null {
  if (name === 'lost+found') return null;
  const file = path.join(directory, name);
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  if (!found) return null;
  if (isForeign(found)) return `contains ${name}, which belongs to another user (uid ${found.uid})`;
  if (FILES.test(name) && !found.isFile()) return `contains ${name}, which is not a regular file`;
  const leadsTo = DIRECTORIES.test(name) ? fs.statSync(file, { throwIfNoEntry: false }) : null;
  if (leadsTo !== null && !leadsTo?.isDirectory())
    return `contains ${name}, which is not a directory`;
  return null;
}

function isForeign({ uid }: fs.Stats): boolean {
  return process.geteuid !== undefined && uid !== process.geteuid();
}

/** Runs `work`, which uses files of the data directory. Throws `storage_full`, or `invalid` if the system refuses access. */
export function withDataDirectory<T>(directory: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError || !(error as NodeJS.ErrnoException).syscall) throw error;
    const { message } = error as Error;
    if (isNoRoom(error))
      throw new AppError(
        'storage_full',
        `cannot write to the data directory ${directory} (${message}): free some space, and try again`,
        { cause: error },
      );
    const isForbidden = ['EACCES', 'EPERM'].includes(codeOf(error));
    const change = isForbidden ? 'change its owner to the user who runs the server, or ' : '';
    throw invalidError(
      `cannot use the data directory ${directory} (${message}): ${change}name another directory with --data-dir`,
      { cause: error },
    );
  }
}
