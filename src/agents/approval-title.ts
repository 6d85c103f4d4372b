import { cutTitle } from '../core/lib/cut-title.ts';

/**
 * What a person reads of a request, in one line: the agent's own title, and after it what the tool would do, unless the
 * title says that already.
 */
export function approvalTitle(title: string, detail: string | null): string {
  const [name, rest] = [onOneLine(endsOf(title)), onOneLine(endsOf(detail ?? ''))];
  return cutTitle(name.includes(rest) ? name : `${name}: ${rest}`);
}

/** The two ends of a text that is too long to be a title: its middle is cut anyway. */
function endsOf(text: string): string {
  return text.length > 2 * END ? `${text.slice(0, END)} … ${text.slice(-END)}` : text;
}

const END = 4096;

function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
