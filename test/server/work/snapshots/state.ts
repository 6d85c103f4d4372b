import fs from 'node:fs';
import path from 'node:path';
import { expectEventually } from '../../../support/expect-eventually.ts';

/** Returns everything in a repository that others could notice: refs, index and objects, with their times. */
export function stateOf(repo: string): string {
  const directory = path.join(repo, '.git');
  return fs
    .readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => {
      const { mtimeMs, size } = fs.lstatSync(path.join(directory, name));
      return `${name} ${mtimeMs} ${size}`;
    })
    .join('\n');
}

/** Waits until git reads a FIFO; the returned file keeps it waiting. */
export async function openedFifo(pipe: string): Promise<number> {
  const { O_WRONLY, O_NONBLOCK } = fs.constants;
  let fd = -1;
  // Only a FIFO that somebody reads can be opened so.
  await expectEventually(() => {
    try {
      fd = fs.openSync(pipe, O_WRONLY | O_NONBLOCK);
    } catch {}
    return fd;
  }).not.toBe(-1);
  return fd;
}
