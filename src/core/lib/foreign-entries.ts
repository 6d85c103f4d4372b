import { constants } from 'node:fs';
import fs from 'node:fs/promises';
import { ForeignFileError } from './foreign-file.ts';
import { type HeldDirectory, holdDirectory, holdIfThere } from './held-directory.ts';
import { codeOf, unless } from './system-error.ts';

/** An open file, or the target of a symbolic link. */
export type OpenEntry =
  | { kind: 'file'; handle: fs.FileHandle; size: number; isExecutable: boolean }
  | { kind: 'link'; target: Buffer };

/** The errors that mean that nothing can be at a path. An index may name files that no file system can have. */
const NOWHERE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);
/** The number of entries that are open at the same time. */
const AT_ONCE = 16;
/** How often an entry is opened again that was replaced meanwhile. */
const ATTEMPTS = 5;

/**
 * Passes files and links below a directory to `work`, one after the other, and some of them at the same time; returns the
 * results in the order of the names. Names have one character for each byte. No link is followed. Null for a name at which
 * there is neither a file nor a link, or to which a link leads. Throws ForeignFileError if an entry is replaced repeatedly.
 */
export async function mapForeignEntries<T>(
  directory: string,
  names: readonly string[],
  work: (entry: OpenEntry, index: number) => Promise<T>,
): Promise<(T | null)[]> {
  const root = await fs.realpath(directory);
  const results: (T | null)[] = [];
  while (results.length < names.length) {
    const from = results.length;
    const [below] = split(names[from] ?? '');
    let to = from + 1;
    while (to < names.length && split(names[to] ?? '')[0] === below) to += 1;
    await using parent = await holdParent(root, below);
    for (let at = from; at < to; at += AT_ONCE) {
      const slice = names.slice(at, Math.min(at + AT_ONCE, to));
      const passed = slice.map((name, index) => passEntry(parent, name, at + index, work));
      // All have ended before the directory is closed.
      await Promise.allSettled(passed);
      results.push(...(await Promise.all(passed)));
    }
  }
  return results;
}

function split(name: string): [below: string, base: string] {
  const at = name.lastIndexOf('/');
  return [name.slice(0, Math.max(at, 0)), name.slice(at + 1)];
}

/** Opens a directory below a root, step by step, so that no link is followed. Null: there is no such directory. */
async function holdParent(root: string, below: string): Promise<HeldDirectory | null> {
  let held = await holdDirectory(root);
  for (const step of below === '' ? [] : below.split('/')) {
    await using outer = held;
    const isStep = !['', '.', '..'].includes(step);
    const inner = isStep && (await holdIfThere(entryIn(outer, step)).catch(unless('ENAMETOOLONG')));
    if (!inner) return null;
    held = inner;
  }
  return held;
}

/** Returns the path of an entry of an open directory. The name has one character for each byte. */
function entryIn({ path }: HeldDirectory, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${path}/`), Buffer.from(name, 'latin1')]);
}

async function passEntry<T>(
  parent: HeldDirectory | null,
  name: string,
  index: number,
  work: (entry: OpenEntry, index: number) => Promise<T>,
): Promise<T | null> {
  const entry = parent && (await openEntry(entryIn(parent, split(name)[1]), name));
  if (entry === null) return null;
  try {
    return await work(entry, index);
  } finally {
    if (entry.kind === 'file') await entry.handle.close();
  }
}

async function openEntry(file: Buffer, name: string): Promise<OpenEntry | null> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1)
    try {
      // Opening some devices has side effects, so the type is checked before the file is opened, and again afterwards.
      const found = await fs.lstat(file);
      if (found.isSymbolicLink())
        return { kind: 'link', target: await fs.readlink(file, 'buffer') };
      if (!found.isFile()) return null;
      const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW, O_NOCTTY } = constants;
      const handle = await fs.open(file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
      const opened = await handle.stat();
      const isExecutable = (opened.mode & 0o100) !== 0;
      if (opened.isFile()) return { kind: 'file', handle, size: opened.size, isExecutable };
      await handle.close();
    } catch (error) {
      if (NOWHERE.has(codeOf(error))) return null;
      // A link, a file and a special file have taken each other's place.
      if (!['ELOOP', 'EINVAL', 'ENXIO'].includes(codeOf(error))) throw error;
    }
  const shown = Buffer.from(name, 'latin1').toString('utf8');
  throw new ForeignFileError(`the file ${shown} is being replaced while it is read`);
}
