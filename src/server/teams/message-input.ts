import type { Message } from '../../api/team-messages.ts';
import { frame, withoutFrames } from '../../core/lib/frame.ts';
import type { StoredInputItem } from '../../api/input.ts';

/**
 * Returns the input for a recipient: the framed message, then its images. `title` is the sender's title in the team.
 */
export function messageInput(message: Message, title: string | null): StoredInputItem[] {
  const { id, sender_agent_id, scope, team_id, input, images } = message;
  const items: StoredInputItem[] = Array.isArray(input) ? input : [input];
  const texts = items.flatMap((item) => ('text' in item ? [String(item.text)] : []));
  const attributes = {
    id,
    sender: sender_agent_id,
    title: title ?? '',
    scope,
    team: team_id,
    ...(message.reply_to_message_id && { reply_to_message_id: message.reply_to_message_id }),
    ...(message.correlation_id && { correlation_id: message.correlation_id }),
  };
  const text = frame('team_message', attributes, withoutFrames(texts.join('\n')));
  return [{ type: 'text', text }, ...items.filter(({ type }) => type === 'image'), ...images];
}
