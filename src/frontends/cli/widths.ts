type Exact = Pick<typeof import('../terminal/width.ts'), 'truncated' | 'widthOf'>;

let exact: Exact | null = null;

/**
 * Loads what knows the width of every character. It takes as long to load as a short command takes altogether, so that
 * only texts that need it wait for it. Without it, each character counts as one column.
 */
export async function loadWidths(): Promise<void> {
  exact ??= await import('../terminal/width.ts');
}

/** Whether widths of a text are exact before `loadWidths`: its characters all take one column, and so does "…". */
export function isNarrow(text: string): boolean {
  return exact !== null || /^[\n\u001b -~\u2026]*$/.test(text);
}

/** The number of columns that a text of one line takes, which has no colours. */
export function widthOf(text: string): number {
  return exact ? exact.widthOf(text) : text.length;
}

/** A text of one line without colours in at most `columns` columns; one that was cut ends with "…". */
export function truncated(text: string, columns: number): string {
  if (exact) return exact.truncated(text, columns);
  return text.length > columns ? `${text.slice(0, Math.max(0, columns - 1))}…` : text;
}
