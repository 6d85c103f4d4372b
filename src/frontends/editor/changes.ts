/** A part of a file before and after. */
export interface Change {
  /** Null for a file that is new. */
  oldText: string | null;
  newText: string;
}

/** The changes in a unified diff of one file: one for each of its hunks, with the lines around. */
export function changesIn(diff: string): Change[] {
  const [header = '', ...hunks] = diff.split(/^@@.*\n?/m);
  const isNew = /^--- \/dev\/null$/m.test(header);
  if (hunks.length === 0) return [{ oldText: isNew ? null : '', newText: '' }];
  return hunks.map((hunk) => ({
    oldText: isNew ? null : side(hunk, '-'),
    newText: side(hunk, '+'),
  }));
}

/** The lines of a hunk on one side of the change. */
function side(hunk: string, sign: '-' | '+'): string {
  let text = '';
  let isMine = false;
  for (const line of hunk.replace(/\n$/, '').split('\n')) {
    // "\ No newline at end of file" is about the line before it.
    if (line.startsWith('\\')) {
      if (isMine) text = text.replace(/\n$/, '');
      continue;
    }
    isMine = line.startsWith(sign) || !/^[+-]/.test(line);
    if (isMine) text += `${line.slice(1)}\n`;
  }
  return text;
}
