import { endpoints } from '../../../../src/api/index.ts';
import type { Delivery } from '../../../../src/api/team-messages.ts';
import type { UntypedEvent } from '../../../support/untyped-events.ts';
import type { Violations } from '../../crash/checks.ts';
import {
  openSession,
  type FinalState,
  pauseRandomly,
  type Activity,
  turnsWith,
  untilClosing,
  type ActivityContext,
} from '../activity.ts';

const MOST_WAITING = 5;

interface Sent {
  label: string;
  recipients: string[];
}

/** Three sessions that send one another messages. */
export class TeamActivity implements Activity {
  readonly name = 'teams';
  readonly #context: ActivityContext;
  readonly #messages = new Map<string, Sent>();
  readonly #waiting = new Set<string>();
  readonly #done = new Set<string>();
  #team = '';

  constructor(context: ActivityContext) {
    this.#context = context;
    context.eventWaiter.onEvent(({ kind, payload }) => {
      if (!['delivery.injected', 'delivery.failed', 'delivery.cancelled'].includes(kind)) return;
      const { message_id } = payload.delivery as Delivery;
      this.#done.add(message_id);
      this.#waiting.delete(message_id);
    });
  }

  async run(): Promise<void> {
    const { requests, receipts, random } = this.#context;
    const sessions: string[] = [];
    for (let i = 0; i < 3; i++)
      sessions.push(await openSession(this.#context, this.#context.place));
    const [lead = '', ...members] = sessions;
    const body = { name: 'crew', lead_agent_id: lead, member_agent_ids: members };
    const { team } = await requests.call(endpoints.createTeam, { body });
    this.#team = team.id;
    await untilClosing(this.#context, async () => {
      if (this.#waiting.size < MOST_WAITING) {
        const label = this.#context.newLabel();
        const sender = random.pick(sessions);
        const others = sessions.filter((one) => one !== sender);
        const recipient = random.chance(0.3) ? null : random.pick(others);
        const id = await this.#send(sender, recipient, label);
        receipts.add('team.message_created', id);
        this.#messages.set(id, { label, recipients: recipient === null ? others : [recipient] });
        if (!this.#done.has(id)) this.#waiting.add(id);
      }
      await pauseRandomly(this.#context, 500);
    });
    for (const session_id of sessions)
      await requests.call(endpoints.resumeSessionQueue, { params: { session_id }, body: {} });
  }

  async check({ client, log }: FinalState): Promise<Violations> {
    const wrong: Violations = [];
    const params = { team_id: this.#team };
    for (const [id, sent] of this.#messages) {
      const query = { message_id: id };
      const deliveries = await client.call(endpoints.listDeliveries, { params, query });
      wrong.push(...checkMessage(id, sent, deliveries, turnsWith(log, sent.label)));
    }
    return wrong;
  }

  async #send(sender_agent_id: string, recipient: string | null, label: string): Promise<string> {
    const { requests } = this.#context;
    const params = { team_id: this.#team };
    const input = { type: 'text' as const, text: `${label}; say heard` };
    const body = { sender_agent_id, input };
    if (recipient === null)
      return (await requests.call(endpoints.broadcast, { params, body })).message.id;
    const direct = { ...body, recipient_agent_id: recipient };
    return (await requests.call(endpoints.sendMessage, { params, body: direct })).message.id;
  }
}

/** Each recipient got the message in one turn. */
export function checkMessage(
  id: string,
  { recipients }: Pick<Sent, 'recipients'>,
  deliveries: readonly Pick<Delivery, 'recipient_agent_id' | 'status' | 'attempts'>[],
  turns: readonly Pick<UntypedEvent, 'session_id'>[],
): Violations {
  const wrong: Violations = [];
  const to = deliveries.map((delivery) => delivery.recipient_agent_id).toSorted();
  if (to.join() !== recipients.toSorted().join())
    wrong.push(`message ${id} was sent to ${to.join(', ')}`);
  for (const { recipient_agent_id: recipient, status, attempts } of deliveries) {
    if (status !== 'injected') wrong.push(`message ${id} is ${status} for ${recipient}`);
    const got = turns.filter(({ session_id }) => session_id === recipient).length;
    if (got !== attempts || got < 1)
      wrong.push(`message ${id} became ${got} turns of ${recipient}, after ${attempts} attempts`);
  }
  const others = turns.filter(({ session_id }) => !recipients.includes(session_id ?? ''));
  if (others.length > 0) wrong.push(`message ${id} became a turn of another session`);
  return wrong;
}
