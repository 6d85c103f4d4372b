import fs from 'node:fs/promises';
import path from 'node:path';
import { type AppError, invalidError } from '../../../api/errors.ts';

const MAX_PATH_BYTES = 4096;

/** Resolves with the real path of an existing directory; the server's own if none is requested. Throws `invalid`. */
export async function workingDirectory(requested: string | null | undefined): Promise<string> {
  if (requested?.includes('\0')) throw invalidError('cwd contains a NUL character');
  const directory = path.resolve(requested ?? process.cwd());
  if (Buffer.byteLength(directory) > MAX_PATH_BYTES)
    throw await refusal(directory, { code: 'ENAMETOOLONG' });
  try {
    // With the dot, this fails for everything but a directory.
    const real = await fs.realpath(`${directory}/.`);
    // This fails if the user has no permission to enter the directory, which `realpath` does not check.
    await fs.stat(`${real}/.`);
    return real;
  } catch (error) {
    throw await refusal(directory, error as { code?: string });
  }
}

async function refusal(directory: string, { code }: { code?: string }): Promise<AppError> {
  const isThere = () =>
    fs.access(directory).then(
      () => true,
      () => false,
    );
  if (code === 'ENOENT' || (code === 'ENOTDIR' && !(await isThere())))
    return invalidError(`cwd "${directory}" does not exist`);
  if (code === 'ENOTDIR') return invalidError(`cwd "${directory}" is not a directory`);
  const cut = directory.slice(0, 200);
  if (code === 'EACCES')
    return invalidError(
      `the user who runs the server has no permission to enter cwd "${cut}": choose another directory, or change its permissions`,
    );
  return invalidError(`cwd "${cut}" cannot be used: ${code}`);
}
