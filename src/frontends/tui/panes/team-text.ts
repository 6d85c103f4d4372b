import type { Delivery, Message } from '../../../api/team-messages.ts';
import type { TeamView } from '../../../api/team-view.ts';
import { deliveryStates } from '../../../client/delivery-states.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { inputText } from '../../terminal/conversation.ts';
import { markdownLines } from '../../terminal/markdown.ts';
import type { Palette } from '../../terminal/palette.ts';
import { padded, truncated, widthOf } from '../../terminal/width.ts';
import type { Shape, Text } from './reader.ts';

/** The messages of a team as text, the newest last. */
export class TeamText implements Text {
  #view: TeamView | null = null;
  #messages: readonly Message[] = [];
  #rendered = new WeakMap<Message, { key: string; lines: readonly string[] }>();

  /** `messages` are in the order in which they were sent. */
  show(view: TeamView, messages: readonly Message[]): void {
    this.#view = view;
    this.#messages = messages;
  }

  count(): number {
    return this.#messages.length;
  }

  textOf(at: number): string {
    const message = this.#messages[at];
    if (!message) return '';
    const { sender_agent_id: from, recipient_agent_id: to } = message;
    return `${this.#nameOf(from)} ${to === null ? 'all' : this.#nameOf(to)} ${textOf(message)}`;
  }

  linesOf(at: number, { columns, palette }: Shape): readonly string[] {
    const message = this.#messages[at];
    if (!message) return [];
    const deliveries = this.#view?.deliveries_by_message_id?.[message.id] ?? [];
    const key = `${columns} ${palette.on} ${at === 0} ${deliveryStates(deliveries)}`;
    const known = this.#rendered.get(message);
    if (known?.key === key) return known.lines;
    const own = this.#messageLines(message, deliveries, { columns, palette });
    const lines = at === 0 ? own : ['', ...own];
    this.#rendered.set(message, { key, lines });
    return lines;
  }

  #messageLines(
    message: Message,
    deliveries: readonly Delivery[],
    { columns, palette }: { columns: number; palette: Palette },
  ): string[] {
    const from = this.#nameOf(message.sender_agent_id);
    const to =
      message.recipient_agent_id === null ? 'all' : this.#nameOf(message.recipient_agent_id);
    const state = message.cancelled_at === null ? deliveryStates(deliveries) : 'cancelled';
    const head = [`${from} → ${to}`, timeOf(message.created_at), state].filter(Boolean).join('  ');
    return [
      palette.accent(truncated(head, columns)),
      ...markdownLines(textOf(message), { columns, palette }),
    ];
  }

  #nameOf(id: string): string {
    const member = this.#view?.members.find(({ agent_id }) => agent_id === id);
    return oneLine(member?.title ?? '') || id.slice(-8);
  }
}

/** The name of a team, and a line for each member: its state, its name, and what waits for it. */
export function memberLines(
  { team, members }: TeamView,
  { columns, palette }: { columns: number; palette: Palette },
): string[] {
  const name = palette.strong(truncated(oneLine(team.name), columns));
  const cells = members.map((one) => ({
    state: one.state === 'waiting_for_approval' ? 'waiting' : one.state,
    name: `${oneLine(one.title ?? '') || one.agent_id.slice(-8)}${one.agent_id === team.lead_agent_id ? ' (lead)' : ''}`,
    rest: [
      one.worktree?.worktree_name ?? '',
      one.pending_deliveries > 0 ? `${one.pending_deliveries} pending` : '',
    ]
      .filter(Boolean)
      .join('  '),
  }));
  const width = Math.min(
    Math.max(8, Math.floor(columns / 2)),
    Math.max(0, ...cells.map((one) => widthOf(one.name))),
  );
  const rows = cells.map(({ state, name: who, rest }) => {
    const style =
      state === 'waiting' ? palette.warn : state === 'failed' ? palette.bad : palette.good;
    const isIdle = state === 'idle' || state === 'closed';
    const line = `${padded(state, 7)}  ${padded(who, width)}  ${rest}`.trimEnd();
    const cut = truncated(line, columns);
    return (isIdle ? palette.faint : style)(cut.slice(0, 7)) + cut.slice(7);
  });
  return [name, ...rows];
}

function textOf({ input }: Message): string {
  return inputText([input].flat());
}

/** The time of day at this terminal: `14:03`. */
function timeOf(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 5);
}
