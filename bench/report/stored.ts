import fs from 'node:fs';
import path from 'node:path';

const DIRECTORY = path.join(import.meta.dirname, '../stored');

/** The file with the stored results of a version. */
export function storedFile(version: string): string {
  return path.join(DIRECTORY, `${version}.jsonl`);
}

/** The file of the newest version whose results are stored. */
export function newestStored(): string {
  const versions = fs.readdirSync(DIRECTORY).filter((name) => name.endsWith('.jsonl'));
  const [newest] = versions
    .map((name) => name.slice(0, -'.jsonl'.length))
    .toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true }));
  if (newest === undefined) throw new Error(`no results are stored in ${DIRECTORY}`);
  return storedFile(newest);
}
