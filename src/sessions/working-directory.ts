import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../errors.ts';

/** The absolute, existing directory that was meant; the server's own where none was named. Throws `invalid`. */
export function workingDirectory(named: string | null | undefined): string {
  const directory = path.resolve(named ?? process.cwd());
  if (named?.includes('\0')) throw new AppError('invalid', 'cwd holds a NUL character');
  const found = statIfAny(directory);
  if (!found) throw new AppError('invalid', `cwd "${directory}" does not exist`);
  if (!found.isDirectory()) throw new AppError('invalid', `cwd "${directory}" is not a directory`);
  return fs.realpathSync(directory);
}

function statIfAny(directory: string): fs.Stats | undefined {
  try {
    return fs.statSync(directory, { throwIfNoEntry: false });
  } catch (error) {
    throw new AppError(
      'invalid',
      `cwd "${directory.slice(0, 200)}" cannot be used: ${(error as NodeJS.ErrnoException).code}`,
    );
  }
}
