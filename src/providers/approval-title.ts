import { cutTitle } from '../lib/cut-title.ts';

/**
 * What a person reads of a request: the agent's own title, and after it what the tool would do, unless the title says
 * that already.
 */
export function approvalTitle(title: string, detail: string | null): string {
  if (detail === null || detail.trim() === '' || title.includes(detail)) return cutTitle(title);
  return cutTitle(`${title}: ${detail}`);
}
