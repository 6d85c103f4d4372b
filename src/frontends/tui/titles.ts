import { oneLine } from '../../client/event-summary.ts';
import type { Overview } from './overview.ts';

/** Names a session by its title and the end of its id; by the end of its id if the title is not known. */
export function sessionName(id: string, title: string | null | undefined): string {
  const text = oneLine(title ?? '');
  return text === '' ? `session ${id.slice(-8)}` : `session "${text}" (${id.slice(-8)})`;
}

/** Returns a message of the server in which each session that is listed is named by its title and the end of its id. */
export function withTitles(message: string, { sessions }: Pick<Overview, 'sessions'>): string {
  let text = message;
  for (const [id, { session }] of sessions) {
    const title = oneLine(session.title ?? '');
    if (title === '' || !text.includes(id)) continue;
    const name = `"${title}" (${id.slice(-8)})`;
    text = text.replaceAll(`"${id}"`, () => name).replaceAll(id, () => name);
  }
  return text;
}
