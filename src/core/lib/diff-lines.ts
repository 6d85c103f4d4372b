export type DiffStyle = 'accent' | 'strong' | 'faint' | 'added' | 'removed';

/** The lines of a unified diff, each with its style; null for a line without one. */
export function partsOfDiff(diff: string): { line: string; style: DiffStyle | null }[] {
  let toCome = outside;
  return diff
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => {
      const style = styleOf(line, toCome);
      toCome = after(line, toCome);
      return { line, style };
    });
}

/** Whether a text of a tool is a unified diff. */
export function isDiff(text: string): boolean {
  return /^(?:diff --git |--- .*\n\+\+\+ |@@ -\d)/m.test(text);
}

/** Where a line of a unified diff belongs: to a file's heading, or to a hunk with so many lines still to come. */
interface LinesToCome {
  old: number;
  new: number;
}

const outside: LinesToCome = { old: 0, new: 0 };
const HUNK = /^@@+ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/** A line within a hunk is what its first character says, whatever follows: a removed line may begin with `--`. */
function styleOf(line: string, toCome: LinesToCome): DiffStyle | null {
  if (!isWithin(toCome)) {
    if (HUNK.test(line)) return 'accent';
    if (/^(?:---|\+\+\+|diff |index )/.test(line)) return 'strong';
  }
  if (line.startsWith('\\')) return 'faint';
  if (line.startsWith('+')) return 'added';
  return line.startsWith('-') ? 'removed' : null;
}

function after(line: string, toCome: LinesToCome): LinesToCome {
  const hunk = HUNK.exec(line);
  if (hunk && !isWithin(toCome)) return { old: Number(hunk[1] ?? 1), new: Number(hunk[2] ?? 1) };
  if (!isWithin(toCome) || line.startsWith('\\')) return toCome;
  return {
    old: toCome.old - Number(!line.startsWith('+')),
    new: toCome.new - Number(!line.startsWith('-')),
  };
}

function isWithin({ old, new: added }: LinesToCome): boolean {
  return old > 0 || added > 0;
}
