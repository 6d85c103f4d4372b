import fs from 'node:fs';
import path from 'node:path';
import { codeOf } from './system-error.ts';

/**
 * Creates a directory with its parents, only for its owner unless `mode` says otherwise; does nothing if it exists. Throws
 * the system's error. The recursive mkdir of Node would try for ever where the system refuses a directory although its
 * parent exists, as in /proc.
 */
export function makeDirectory(directory: string, mode = 0o700): void {
  if (fs.existsSync(directory)) return;
  const parent = path.dirname(directory);
  if (parent !== directory) makeDirectory(parent, mode);
  try {
    fs.mkdirSync(directory, { mode });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
