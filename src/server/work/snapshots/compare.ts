import { isUtf8 } from 'node:buffer';
import type { FileChange, SessionDiff } from '../../../api/diffs.ts';
import { readChanges, type TreeChange } from '../git/changes.ts';
import { type Git, toText } from '../git/git.ts';

/** The maximum number of files of an answer, and the maximum size of git's list of them, in bytes. */
const MAX_FILES = 3000;
const LIST_BYTES = 8 * 1024 * 1024;

/** Compares trees alone, as text only below 2 MiB, in a form that no setting of a user changes. */
const DIFF_TREE = [
  '-c',
  'core.bigFileThreshold=2m',
  '-c',
  'core.quotePath=false',
  '-c',
  'diff.suppressBlankEmpty=false',
  'diff-tree',
  '-r',
  '-M',
  '-l1000',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--full-index',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--unified=3',
];

type Compared = Pick<SessionDiff, 'files' | 'files_changed' | 'additions' | 'deletions' | 'is_cut'>;

/**
 * Compares two trees. `paths` restricts the answer to files at or below them; with `stat`, no patches are made, and with
 * `exact`, each patch is one that git applies. Throws GitFailure.
 */
export async function compareTrees(
  git: Git,
  trees: readonly [before: string, after: string],
  { paths, stat, exact }: { paths: readonly string[]; stat: boolean; exact: boolean },
): Promise<Compared> {
  const operands = [...trees, '--', ...paths];
  const list = [...DIFF_TREE, '--raw', '--numstat', '-z', ...operands];
  const listed = await git.upTo(LIST_BYTES, list);
  const all = readChanges(listed.text);
  const shown = all.slice(0, MAX_FILES);
  const parts = new PatchParts();
  const print = [...DIFF_TREE, exact ? '--binary' : '-p', ...operands];
  const isAsked = !stat && shown.length > 0;
  const isPatchCut = isAsked && (await git.pieces(print, (chunk) => parts.push(chunk)));
  const files = withPatches(shown, stat ? null : parts.end({ isCut: isPatchCut }), exact);
  const sized = await withSizes(git, files);
  const sum = (counts: readonly (number | null)[]) =>
    counts.reduce<number>((total, one) => total + (one ?? 0), 0);
  return {
    files: sized,
    files_changed: all.length,
    additions: sum(all.map(({ additions }) => additions)),
    deletions: sum(all.map(({ deletions }) => deletions)),
    is_cut:
      listed.isCut || all.length > shown.length || sized.some((one) => one.no_patch === 'limit'),
  };
}

/** Gives each file its part of the diff; git prints them in the same order, and two for a file that changes its type. */
function withPatches(
  changes: readonly TreeChange[],
  parts: ReturnType<PatchParts['end']> | null,
  exact: boolean,
): FileChange[] {
  let at = 0;
  return changes.map((change) => {
    const own = parts?.slice(at, (at += change.status === 'type_changed' ? 2 : 1));
    const texts = own?.flatMap((part) => ('text' in part ? [part.text] : [])) ?? [];
    const left = own?.flatMap((part) => ('left' in part ? [part.left] : []))[0];
    const isInexact = own?.some((part) => 'text' in part && !part.isExact) === true;
    const isBinary = exact ? isInexact : change.additions === null;
    const isWhole = texts.length > 0 && left === undefined && !isBinary;
    const reason = parts === null ? 'not_asked' : isBinary ? 'binary' : (left ?? 'limit');
    return {
      ...change,
      path: toText(change.path),
      old_path: change.old_path === null ? null : toText(change.old_path),
      old_bytes: null,
      new_bytes: null,
      patch: isWhole ? texts.join('') : null,
      no_patch: isWhole ? null : reason,
    };
  });
}

/** Looks up the sizes of files that were not compared as text; those above the limit for that are large. */
async function withSizes(git: Git, files: FileChange[]): Promise<FileChange[]> {
  const isAsked = (one: FileChange) => one.additions === null && !isLink(one);
  const blobs = files.filter(isAsked).flatMap(({ old_blob, new_blob }) => [old_blob, new_blob]);
  const wanted = [...new Set(blobs)].filter((blob) => blob !== null);
  if (wanted.length === 0) return files;
  const check = ['cat-file', '--batch-check=%(objectname) %(objectsize)'];
  const lines = (await git.text(check, `${wanted.join('\n')}\n`)).split('\n');
  const sizes = new Map(
    lines.flatMap((line) => {
      const [, blob = '', size = ''] = /^([0-9a-f]+) (\d+)$/.exec(line) ?? [];
      return blob === '' ? [] : [[blob, Number(size)] as const];
    }),
  );
  const sizeOf = (blob: string | null) => sizes.get(blob ?? '') ?? null;
  return files.map((one) => {
    if (!isAsked(one)) return one;
    const [old_bytes, new_bytes] = [sizeOf(one.old_blob), sizeOf(one.new_blob)];
    const isLarge = Math.max(old_bytes ?? 0, new_bytes ?? 0) > TEXT_BYTES;
    const no_patch = one.no_patch === 'binary' && isLarge ? 'large' : one.no_patch;
    return { ...one, old_bytes, new_bytes, no_patch };
  });
}

/** The size above which git does not compare files as text, in bytes; {@link DIFF_TREE} has it too. */
const TEXT_BYTES = 2 * 1024 * 1024;

/** Whether an entry is the commit of a submodule, which the repository does not contain. */
function isLink({ old_mode, new_mode }: FileChange): boolean {
  return (new_mode ?? old_mode) === '160000';
}

/** The maximum size of the patch of one file, and of all patches of an answer, in bytes. */
const PATCH_BYTES = 512 * 1024;
const PATCHES_BYTES = 4 * 1024 * 1024;
/** How much of git's output is read at most, in bytes. */
const READ_BYTES = 64 * 1024 * 1024;

const HEADER = Buffer.from('\ndiff --git ');

/**
 * The part of a unified diff for one file, and whether it is UTF-8, so that nothing of it was replaced; or why it was left
 * out: it is too long, or no room is left for it.
 */
type Part = { text: string; isExact: boolean } | { left: 'large' | 'limit' };

/** Splits a unified diff, as git prints it, into its parts. It holds no more of it than the limits allow. */
class PatchParts {
  readonly #parts: Part[] = [];
  #tail = Buffer.alloc(0);
  #chunks: Buffer[] = [];
  #bytes = 0;
  #kept = 0;
  #read = 0;

  /** Takes a piece of the output; returns false once no more is wanted. */
  push(chunk: Buffer): boolean {
    this.#read += chunk.length;
    if (this.#read > READ_BYTES) return false;
    let data = Buffer.concat([this.#tail, chunk]);
    for (let at = data.indexOf(HEADER); at >= 0; at = data.indexOf(HEADER)) {
      this.#add(data.subarray(0, at + 1));
      this.#close();
      data = data.subarray(at + 1);
    }
    // A header may be divided between two pieces.
    const end = Math.max(0, data.length - HEADER.length);
    this.#add(data.subarray(0, end));
    this.#tail = data.subarray(end);
    return true;
  }

  /** Returns the parts in their order. After output that was cut off, the last one is missing. */
  end({ isCut }: { isCut: boolean }): Part[] {
    this.#add(this.#tail);
    if (!isCut && this.#bytes > 0) this.#close();
    return this.#parts;
  }

  #add(data: Buffer): void {
    this.#bytes += data.length;
    if (this.#bytes <= PATCH_BYTES && data.length > 0) this.#chunks.push(Buffer.from(data));
    else if (this.#bytes > PATCH_BYTES) this.#chunks = [];
  }

  #close(): void {
    const isLarge = this.#bytes > PATCH_BYTES;
    const hasRoom = this.#kept + this.#bytes <= PATCHES_BYTES;
    if (isLarge) this.#parts.push({ left: 'large' });
    else if (!hasRoom) this.#parts.push({ left: 'limit' });
    else {
      this.#kept += this.#bytes;
      const bytes = Buffer.concat(this.#chunks);
      this.#parts.push({ text: bytes.toString('utf8'), isExact: isUtf8(bytes) });
    }
    this.#chunks = [];
    this.#bytes = 0;
  }
}
