import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../errors.ts';

/** Returns the real path of an existing directory; the server's own if none is requested. Throws `invalid`. */
export function workingDirectory(requested: string | null | undefined): string {
  const directory = path.resolve(requested ?? process.cwd());
  if (requested?.includes('\0')) throw new AppError('invalid', 'cwd holds a NUL character');
  const found = statOrUndefined(directory);
  if (!found) throw new AppError('invalid', `cwd "${directory}" does not exist`);
  if (!found.isDirectory()) throw new AppError('invalid', `cwd "${directory}" is not a directory`);
  return fs.realpathSync.native(directory);
}

function statOrUndefined(directory: string): fs.Stats | undefined {
  try {
    return fs.statSync(directory, { throwIfNoEntry: false });
  } catch (error) {
    throw new AppError(
      'invalid',
      `cwd "${directory.slice(0, 200)}" cannot be used: ${(error as NodeJS.ErrnoException).code}`,
    );
  }
}
