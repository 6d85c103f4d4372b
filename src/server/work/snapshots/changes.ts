import type { FileChange } from '../../../api/diffs.ts';

/** One changed file, as `git diff-tree --raw --numstat -z` prints it; names have one character for each byte. */
export type RawChange = Pick<
  FileChange,
  | 'path'
  | 'old_path'
  | 'status'
  | 'old_mode'
  | 'new_mode'
  | 'old_blob'
  | 'new_blob'
  | 'additions'
  | 'deletions'
>;

const STATUSES: Record<string, FileChange['status']> = {
  A: 'added',
  D: 'deleted',
  M: 'modified',
  R: 'renamed',
  T: 'type_changed',
};

/** Reads that output. Entries that were cut off are left out. */
export function readChanges(output: string): RawChange[] {
  const words = output.split('\0');
  const changes: RawChange[] = [];
  let at = 0;
  while (words[at]?.startsWith(':')) {
    const [, oldMode = '', newMode = '', oldBlob = '', newBlob = '', letter = ''] =
      /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])/.exec(words[at] ?? '') ?? [];
    const isRenamed = letter === 'R' || letter === 'C';
    const [first, second] = [words[at + 1] ?? '', words[at + 2] ?? ''];
    at += isRenamed ? 3 : 2;
    changes.push({
      path: isRenamed ? second : first,
      old_path: isRenamed ? first : null,
      status: STATUSES[letter] ?? 'modified',
      old_mode: unlessZero(oldMode),
      new_mode: unlessZero(newMode),
      old_blob: unlessZero(oldBlob),
      new_blob: unlessZero(newBlob),
      additions: null,
      deletions: null,
    });
  }
  const counts = readCounts(words.slice(at));
  return changes.map((change) => ({ ...change, ...counts.get(change.path) }));
}

/** Reads the lines of numstat: `ADDED TAB DELETED TAB NAME`, or an empty name and two more words for a renamed file. */
function readCounts(
  words: readonly string[],
): Map<string, Pick<RawChange, 'additions' | 'deletions'>> {
  const counts = new Map<string, Pick<RawChange, 'additions' | 'deletions'>>();
  for (let at = 0; at < words.length; at += 1) {
    const [, added = '', deleted = '', name = ''] =
      /^(\d+|-)\t(\d+|-)\t([\s\S]*)$/.exec(words[at] ?? '') ?? [];
    if (added === '') continue;
    const path = name === '' ? (words[at + 2] ?? '') : name;
    if (name === '') at += 2;
    if (added !== '-') counts.set(path, { additions: Number(added), deletions: Number(deleted) });
  }
  return counts;
}

function unlessZero(text: string): string | null {
  return /^0*$/.test(text) ? null : text;
}
