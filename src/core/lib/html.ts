import { partsOfDiff } from './diff-lines.ts';
import { oneLine, revealed } from './plain.ts';

/** A text for HTML, where every character of the text is only text. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A text for HTML with its lines, and with invisible characters as their code points. */
export function textHtml(text: string): string {
  return escapeHtml(revealed(text));
}

/** As `textHtml`, in one line and without invisible characters. */
export function lineHtml(text: string): string {
  return textHtml(oneLine(text));
}

/** A unified diff for a `<pre>`: each line that has a style is a span with its name as its class. */
export function diffHtml(diff: string): string {
  return partsOfDiff(diff)
    .map(({ line, style }) =>
      style === null ? textHtml(line) : `<span class="${style}">${textHtml(line)}</span>`,
    )
    .join('\n');
}
