import fs from 'node:fs/promises';
import path from 'node:path';
import { conflictError } from '../../../api/errors.ts';
import { openIsolatedGitDir } from '../git/isolated-git-dir.ts';
import { type Git, toBytes, toText } from '../git/git.ts';
import type { SessionCheckout } from './session-checkout.ts';
import type { WorkContext } from './snapshot-requests.ts';

/** The maximum number of files of a tree that are listed, and the maximum size of git's list, in bytes. */
const MAX_FILES = 5000;
const LIST_BYTES = 4 * 1024 * 1024;
/** The maximum size of a file that is read, in bytes. */
const MAX_BYTES = 32 * 1024 * 1024;

/** The beginning of a file whose content Git LFS stores. */
export const LFS = 'version https://git-lfs.github.com/spec/';

// A type alias, because answers are matched by an index signature.
export type TreeEntry = {
  path: string;
  mode: string;
  blob: string;
  bytes: number | null;
};

/** Returns the files of a tree, or those at or below a path, and whether there are more. */
export async function listTree(
  git: Git,
  tree: string,
  below: readonly string[],
): Promise<{ files: TreeEntry[]; is_cut: boolean }> {
  const args = ['ls-tree', '-r', '-l', '-z', '--full-tree', tree, '--', ...below];
  const { text, isCut } = await git.upTo(LIST_BYTES, args);
  const found = text.split('\0').slice(0, -1).map(entryOf);
  return { files: found.slice(0, MAX_FILES), is_cut: isCut || found.length > MAX_FILES };
}

/** Returns one file of a tree. Throws `conflict` if it has none of that name. */
export async function entryAt(git: Git, tree: string, name: string): Promise<TreeEntry> {
  const { files } = await listTree(git, tree, [name]);
  const found = files.find((one) => one.path === name);
  if (!found)
    throw conflictError(
      files.length > 0
        ? `the path ${name} was a directory at the time of the snapshot: name a file in that directory`
        : `the file ${name} did not exist at the time of the snapshot, or git ignored the file`,
    );
  if (found.mode === '160000')
    throw conflictError(`the path ${name} is a git submodule: snapshots do not include submodules`);
  if ((found.bytes ?? 0) > MAX_BYTES)
    throw conflictError(
      `the file ${name} in the snapshot is too large (${found.bytes} bytes): the maximum is ${MAX_BYTES} bytes`,
    );
  return found;
}

/**
 * Returns the bytes that a file of a tree has in the checkout: with the line endings that the repository wants there.
 * Throws `conflict` for a file that a filter of git would have to make.
 */
export async function contentAt(
  { scratch }: WorkContext,
  { repository, gitDir, files }: SessionCheckout,
  git: Git,
  { path: name, mode, blob }: TreeEntry,
): Promise<Buffer> {
  const own = path.join(scratch, 'content');
  await fs.mkdir(own, { mode: 0o700 });
  const { isolated } = await openIsolatedGitDir(repository, { gitDir, files, scratch: own });
  await fs.appendFile(
    path.join(isolated.location.gitDir ?? '', 'info/attributes'),
    '\n* -ident !filter !working-tree-encoding\n',
  );
  const { objects } = git.location;
  const args =
    mode === '120000'
      ? ['cat-file', 'blob', blob]
      : ['cat-file', '--filters', `--path=${name}`, blob];
  const content = Buffer.from(await isolated.with({ objects }).bytes(args), 'latin1');
  if (content.toString('latin1', 0, 64).startsWith(LFS))
    throw conflictError(`the content of ${name} is stored in Git LFS: restore the file with git`);
  return content;
}

/** Returns the id of the content of a file in each of some trees; null where there is none. */
export async function blobsAt(
  git: Git,
  trees: readonly { tree: string }[],
  name: string,
): Promise<(string | null)[]> {
  const asked = trees.map(({ tree }) => `${tree}:${toBytes(name)}\n`).join('');
  const check = ['cat-file', '--batch-check=%(objectname) %(objecttype)'];
  const lines = (await git.bytes(check, asked)).trimEnd().split('\n');
  return lines.map((line) => /^([0-9a-f]{40,64}) blob$/.exec(line)?.[1] ?? null);
}

function entryOf(line: string): TreeEntry {
  const [, mode = '', blob = '', bytes = '', name = ''] =
    /^(\d+) \w+ ([0-9a-f]+) +(\d+|-)\t([\s\S]*)$/.exec(line) ?? [];
  return { path: toText(name), mode, blob, bytes: bytes === '-' ? null : Number(bytes) };
}
