import { constants } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { type DirectoryHandle, openDirectory } from './directory-handle.ts';
import { newUuid } from './ids.ts';
import { WITHOUT_LINKS } from './replace-file.ts';
import { codeOf, unless } from './system-error.ts';

/** An entry of a directory: the bytes of a file, or the target of a symbolic link. */
export interface ForeignEntry {
  kind: 'file' | 'link';
  content: Buffer;
  isExecutable: boolean;
}

/** Thrown if a file was not replaced; the message says why, and everything is as it was. */
export class NotReplaced extends Error {
  override readonly name = 'NotReplaced';
}

interface Replacement {
  entry: ForeignEntry;
  /** Whether what is there may be replaced; null: nothing is there. */
  mayReplace: (found: ForeignEntry | null) => boolean;
  /** Whether what was there is kept beside it. */
  keeps: boolean;
  /** The maximum size of what may be replaced, in bytes. */
  maxBytes: number;
}

/**
 * Replaces the file `name` below `directory`, where agents and people can change anything at any moment. No symbolic
 * link below `directory` is followed, and missing directories are created. The existing file is first renamed and then
 * read, so concurrent writes are never overwritten: after a crash, the file is next to its name as `.NAME.….before`.
 * Resolves with the name of the kept file, or null. Throws NotReplaced.
 */
export async function replaceForeignFile(
  directory: string,
  name: string,
  { entry, mayReplace, keeps, maxBytes }: Replacement,
): Promise<string | null> {
  const base = path.basename(name);
  await using parent = await openParent(await fs.realpath(directory), path.dirname(name));
  const at = (one: string) => `${parent.path}/${one}`;
  const id = newUuid().slice(0, 8);
  const draft = `.${base}.${id}.part`;
  const aside = keeps ? `${base}.kept-${id}` : `.${base}.${id}.before`;
  await write(at(draft), entry, await permissionsOf(at(base)));
  try {
    const isAside = await isDoneUnless('ENOENT', fs.rename(at(base), at(aside)));
    try {
      const found = isAside ? await readEntry(at(aside), maxBytes) : null;
      const isRefused = found === 'other' || !mayReplace(found);
      if (isRefused || !(await isPlaced(at(draft), at(base))))
        throw new NotReplaced(`${name} was changed at the same time`);
    } catch (error) {
      if (isAside && !(await isPutBack(at(aside), at(base))))
        throw new NotReplaced(
          `${name} was changed at the same time, and its earlier content is now in ${aside}`,
        );
      throw error;
    }
    if (!isAside) return null;
    if (keeps) return path.join(path.dirname(name), aside);
    await fs.unlink(at(aside));
    return null;
  } finally {
    await fs.rm(at(draft), { force: true });
  }
}

/** Reads a file or link below a directory under the same rules; null if there is none, `other` for anything else. */
export async function readForeignEntry(
  directory: string,
  name: string,
  maxBytes: number,
): Promise<ForeignEntry | 'other' | null> {
  const root = await fs.realpath(directory);
  const parent = await openParent(root, path.dirname(name), { makes: false });
  if (parent === null) return null;
  await using opened = parent;
  return await readEntry(`${opened.path}/${path.basename(name)}`, maxBytes);
}

function openParent(root: string, below: string): Promise<DirectoryHandle>;
function openParent(
  root: string,
  below: string,
  how: { makes: false },
): Promise<DirectoryHandle | null>;
/** Opens a directory below `root`, one step after the other, so that no link on the way is followed. */
async function openParent(
  root: string,
  below: string,
  { makes }: { makes: boolean } = { makes: true },
): Promise<DirectoryHandle | null> {
  let opened = await openDirectory(root);
  for (const step of below.split('/').filter((one) => one !== '.' && one !== '')) {
    const next = `${opened.path}/${step}`;
    try {
      if (makes) await fs.mkdir(next).catch(unless('EEXIST'));
      const inner = await openDirectory(next);
      await opened[Symbol.asyncDispose]();
      opened = inner;
    } catch (error) {
      await opened[Symbol.asyncDispose]();
      if (!makes && codeOf(error) === 'ENOENT') return null;
      if (!['ENOTDIR', 'ELOOP'].includes(codeOf(error))) throw error;
      throw new NotReplaced(`"${step}" in ${below} is not a directory`);
    }
  }
  return opened;
}

/** The permissions to read and write of the file that is there; null: there is none. */
async function permissionsOf(file: string): Promise<number | null> {
  const found = await fs.lstat(file).catch(unless('ENOENT'));
  return found?.isFile() ? found.mode & 0o666 : null;
}

/** Writes a draft, with the permissions of the file that it replaces, or of any new file. */
async function write(
  file: string,
  { kind, content, isExecutable }: ForeignEntry,
  permissions: number | null,
): Promise<void> {
  if (kind === 'link') return fs.symlink(content, file);
  const mode = permissions ?? 0o666;
  // Whoever may read it may run it.
  await using handle = await fs.open(
    file,
    'wx',
    isExecutable ? mode | ((mode & 0o444) >> 2) : mode,
  );
  await handle.writeFile(content);
  await handle.sync();
}

/** Gives a file another name, unless something else has it; then returns false. The file may keep its former name. */
async function isPlaced(file: string, name: string): Promise<boolean> {
  try {
    return await isDoneUnless('EEXIST', fs.link(file, name));
  } catch (error) {
    if (!WITHOUT_LINKS.has(codeOf(error))) throw error;
    if (await fs.lstat(name).catch(unless('ENOENT'))) return false;
    await fs.rename(file, name);
    return true;
  }
}

async function isDoneUnless(code: string, work: Promise<void>): Promise<boolean> {
  const isDone = await work.then(() => true).catch(unless(code));
  return isDone ?? false;
}

/** Gives what was put aside its name again, unless something else has it: then it stays beside that. */
async function isPutBack(aside: string, file: string): Promise<boolean> {
  if ((await fs.lstat(aside)).isDirectory()) {
    // No file has the name of a directory, and only an empty directory is replaced by one.
    await fs.rename(aside, file);
    return true;
  }
  if (!(await isPlaced(aside, file))) return false;
  await fs.rm(aside, { force: true });
  return true;
}

async function readEntry(file: string, maxBytes: number): Promise<ForeignEntry | 'other' | null> {
  const found = await fs.lstat(file).catch(unless('ENOENT'));
  if (!found) return null;
  if (found.isSymbolicLink())
    return { kind: 'link', content: await fs.readlink(file, 'buffer'), isExecutable: false };
  if (!found.isFile() || found.size > maxBytes) return 'other';
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  await using handle = await fs.open(file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  const { size, mode } = await handle.stat();
  if (size > maxBytes) return 'other';
  const content = Buffer.alloc(size);
  const { bytesRead } = size > 0 ? await handle.read(content, 0, size, 0) : { bytesRead: 0 };
  return bytesRead === size
    ? { kind: 'file', content, isExecutable: (mode & 0o100) !== 0 }
    : 'other';
}
