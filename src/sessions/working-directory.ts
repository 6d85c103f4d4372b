import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../errors.ts';

/** Returns the real path of an existing directory; the server's own if none is requested. Throws `invalid`. */
export function workingDirectory(requested: string | null | undefined): string {
  const directory = path.resolve(requested ?? process.cwd());
  if (requested?.includes('\0')) throw new AppError('invalid', 'cwd holds a NUL character');
  try {
    // The dot makes anything but a directory fail, in one call of the system.
    return fs.realpathSync.native(`${directory}/.`);
  } catch (error) {
    throw refusal(directory, error as NodeJS.ErrnoException);
  }
}

/** Returns why a directory cannot be used. */
function refusal(directory: string, { code }: NodeJS.ErrnoException): AppError {
  if (code === 'ENOENT' || (code === 'ENOTDIR' && !fs.existsSync(directory)))
    return new AppError('invalid', `cwd "${directory}" does not exist`);
  if (code === 'ENOTDIR') return new AppError('invalid', `cwd "${directory}" is not a directory`);
  return new AppError('invalid', `cwd "${directory.slice(0, 200)}" cannot be used: ${code}`);
}
