import fs from 'node:fs';
import path from 'node:path';
import { invalidError, usageError } from '../../api/errors.ts';
import { readSmallFile } from '../lib/foreign-file.ts';
import { replaceFile } from '../lib/replace-file.ts';
import { makeDirectory } from '../lib/make-directory.ts';

/**
 * The token with which an agent outside of cadre calls the tools. It is a file in the data directory, because no
 * configuration of the agent contains the token. Only the owner may read it.
 */
export interface CallerFile {
  name: string;
  token_id: string;
  token: string;
  /** The session that it calls as; null: none. */
  session_id: string | null;
  /** The server's address; null: the address of the server that runs on the data directory. */
  url: string | null;
}

const MAX_BYTES = 64 * 1024;

/** Returns null for an unknown caller. Throws `invalid` for an invalid file, or one that others may read. */
export function readCaller(directory: string, name: string): CallerFile | null {
  const file = callerPath(directory, name);
  if (!fs.existsSync(file)) return null;
  const { text, stat } = readSmallFile(file, { maxBytes: MAX_BYTES });
  if ((stat.mode & 0o077) !== 0 || (process.getuid && stat.uid !== process.getuid()))
    throw invalidError(
      `the file ${file} is readable for other users or belongs to another user: set up the agent again with cadre mcp install`,
    );
  try {
    const { token_id, token, ...more } = JSON.parse(text) as Partial<CallerFile>;
    const { session_id = null, url = null } = more;
    const isWhole = typeof token_id === 'string' && typeof token === 'string';
    const fields = [session_id, url];
    if (isWhole && fields.every((one) => one === null || typeof one === 'string'))
      return { name, token_id, token, session_id, url };
  } catch {
    // The error is thrown below.
  }
  throw invalidError(
    `the file ${file} contains no valid token of an agent: set up the agent again with cadre mcp install`,
  );
}

/** Writes the file atomically, readable for its owner alone. */
export function writeCaller(directory: string, caller: CallerFile): void {
  const file = callerPath(directory, caller.name);
  makeDirectory(path.dirname(file));
  replaceFile(file, `${JSON.stringify(caller, null, 2)}\n`, { flush: true });
}

export function removeCaller(directory: string, name: string): void {
  fs.rmSync(callerPath(directory, name), { force: true });
}

export function callerPath(directory: string, name: string): string {
  if (!/^[\w-]+$/.test(name))
    throw usageError(`invalid agent name "${name}": use letters, digits, "-" and "_"`);
  return path.join(directory, 'callers', `${name}.json`);
}
