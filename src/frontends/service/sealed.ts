import { createHash } from 'node:crypto';

/** How a file stands to what an install has written. */
export type Seal = 'ours' | 'edited' | 'foreign';

const WORDS = 'Written by cadre service install';
const MARK = new RegExp(`${WORDS} \\S+, sha256 ([0-9a-f]{64})[^\\n]*\\n`);

/** The line that says who wrote the text below it, and by its digest whether that was changed since. */
export function sealFor(below: string, version: string): string {
  return `${WORDS} ${version}, sha256 ${digestOf(below)}`;
}

/** Whether a file was written by an install, and whether somebody has changed it since. */
export function sealOf(text: string): Seal {
  const found = MARK.exec(text);
  if (!found) return 'foreign';
  const below = text.slice(found.index + found[0].length);
  return digestOf(below) === found[1] ? 'ours' : 'edited';
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
