import type { Delivery, Message } from '../../api/team-messages.ts';
import type { TeamView } from '../../api/team-view.ts';
import { deliveryStates } from '../../client/delivery-states.ts';
import type { Call } from './endpoint-command.ts';
import { shorten } from '../../core/lib/shorten.ts';
import { ago, plain, shortId, table } from './output.ts';

export function sentText(
  { message, deliveries }: { message: Message; deliveries: Delivery[] },
  { layout }: Pick<Call, 'layout'>,
): string {
  const rows = deliveries.map((one) => [
    shortId(one.id),
    shortId(one.recipient_agent_id),
    one.status,
    one.error?.message ?? '-',
  ]);
  const heading = `${message.id}\n`;
  return rows.length === 0
    ? heading
    : heading + table(['DELIVERY', 'TO', 'STATUS', 'ERROR'], rows, layout);
}

export function viewText(
  { team, members, messages, deliveries_by_message_id }: TeamView,
  { now, layout }: Pick<Call, 'now' | 'layout'>,
) {
  const memberRows = members.map((one) => [
    shortId(one.agent_id),
    one.agent_id === team.lead_agent_id ? 'lead' : '-',
    one.takes_tools === false ? `${one.state}, no tools` : one.state,
    one.context_window_remaining_percentage === null
      ? '-'
      : `${100 - one.context_window_remaining_percentage}% used`,
    String(one.pending_deliveries),
    one.worktree?.worktree_name ?? '-',
    one.title ?? one.session_title ?? '-',
  ]);
  const messageRows = messages.map((one) => [
    shortId(one.id),
    shortId(one.sender_agent_id),
    one.recipient_agent_id === null ? 'all' : shortId(one.recipient_agent_id),
    ago(one.created_at, now),
    deliveryStates(deliveries_by_message_id?.[one.id] ?? []) || '-',
    textOf(one),
  ]);
  return [
    `${plain(team.name)}${team.deleted_at === null ? '' : ' (deleted)'}\n\n`,
    table(
      ['SESSION', 'ROLE', 'STATE', 'CONTEXT', 'WAITING', 'WORKTREE', 'TITLE'],
      memberRows,
      layout,
    ),
    messageRows.length === 0 ? '' : '\n',
    messageRows.length === 0
      ? ''
      : table(['MESSAGE', 'FROM', 'TO', 'AGE', 'DELIVERIES', 'TEXT'], messageRows, layout),
  ].join('');
}

const TEXT_CHARACTERS = 60;

export function textOf({ input }: Message): string {
  const items = Array.isArray(input) ? input : [input];
  const text = items.map((item) => ('text' in item ? String(item.text) : '[image]')).join(' ');
  return shorten(text, TEXT_CHARACTERS);
}
