import type { StoredInputItem } from '../api/sessions.ts';
import type { Message } from '../api/teams.ts';

/** What a recipient is told: the message in its frame, then its images. `title` is what the sender is there for. */
export function wordsOf(message: Message, title: string | null): StoredInputItem[] {
  const { id, sender_agent_id, scope, team_id, input, images } = message;
  const items: StoredInputItem[] = Array.isArray(input) ? input : [input];
  const texts = items.flatMap((item) => ('text' in item ? [String(item.text)] : []));
  const attributes = { id, sender: sender_agent_id, title: title ?? '', scope, team: team_id };
  const opening = Object.entries(attributes).map(([name, value]) => ` ${name}="${quoted(value)}"`);
  const text = `<team_message${opening.join('')}>\n${framed(texts.join('\n'))}\n</team_message>`;
  return [{ type: 'text', text }, ...items.filter(({ type }) => type === 'image'), ...images];
}

/** A text in which nothing opens or closes a frame; all else, code above all, stays as it was written. */
function framed(text: string): string {
  return text.replaceAll(/<(?=[\s\p{Cf}/]*team_message)/giu, '&lt;');
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function quoted(value: string): string {
  return value.replaceAll(/[&<>"]/g, (one) => entities[one] ?? one).replaceAll(/\s+/g, ' ');
}
