import fs from 'node:fs';
import path from 'node:path';

/** Returns the absolute path of an executable, searched in a list such as PATH unless `command` has a slash; or null. */
export function findProgram(command: string, searchPath: string | undefined): string | null {
  const candidates = command.includes('/')
    ? [path.resolve(command)]
    : (searchPath ?? '')
        .split(':')
        .filter(Boolean)
        .map((directory) => path.resolve(directory, command));
  return candidates.find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
