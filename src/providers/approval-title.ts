import { cutTitle } from '../lib/cut-title.ts';

/**
 * What a person reads of a request, in one line: the agent's own title, and after it what the tool would do, unless the
 * title says that already.
 */
export function approvalTitle(title: string, detail: string | null): string {
  const [name, rest] = [onOneLine(title), onOneLine(detail ?? '')];
  return cutTitle(name.includes(rest) ? name : `${name}: ${rest}`);
}

function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
