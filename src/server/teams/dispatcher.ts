import type { Session, Turn } from '../../api/sessions.ts';
import type { Delivery, Message } from '../../api/team-messages.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { Inbox, InboxSource } from '../conversations/inbox/inbox.ts';
import type { SessionStore } from '../conversations/sessions/store.ts';
import {
  type Failure,
  afterTurn,
  cancel,
  defer,
  errorOf,
  fail,
  inject,
  injected,
  policies,
  retry,
} from './delivery.ts';
import type { TeamStore } from './store.ts';
import type { Reader, Writer } from '../../core/store/transaction.ts';
import { frame, withoutFrames } from '../../core/lib/frame.ts';
import type { StoredInputItem } from '../../api/input.ts';

const OWNER = 'team';
const ranks: Record<Message['priority'], number> = { high: 0, normal: 1, low: 2 };

interface DispatcherDeps {
  store: TeamStore;
  sessionStore: SessionStore;
  inbox: Inbox;
  clock: Clock;
}

/** Puts deliveries into the inboxes of their recipients, and follows them there. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  /** The message that was read last, cached because a broadcast reads it for each recipient. */
  #lastRead: Message | undefined;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    deps.inbox.register(OWNER, this.#inboxOwner());
  }

  /** Puts a pending delivery into the inbox of its recipient, as the policy of its message says. */
  dispatch(tx: Writer, delivery: Delivery, message: Message): void {
    const { recipient_agent_id: recipient } = delivery;
    const { needsIdle, interrupts } = policies[message.policy];
    const obstacle = this.#obstacle(tx, delivery);
    // A retried or held delivery may have an entry in the inbox, which must not become a turn.
    if (obstacle) return this.giveUp(tx, delivery, obstacle);
    if (needsIdle && !this.#deps.inbox.isFree(tx, recipient))
      return this.giveUp(tx, delivery, {
        code: 'recipient_busy',
        message: `session ${recipient} is busy or stopped: retry the delivery when the session is idle`,
      });
    this.#put(tx, delivery, message, { interrupts: interrupts === 'at_tool_boundary' });
    if (interrupts !== 'never') this.#deps.inbox.holds.endPause(tx, recipient);
    if (interrupts === 'at_tool_boundary') this.#deps.inbox.atBoundary(tx, recipient);
    if (interrupts === 'at_once') this.#deps.inbox.interruptNow(tx, recipient);
    this.#deps.inbox.beginNextTurn(tx, recipient);
  }

  /** Holds a delivery until it is dispatched or released. `error`: why it is also deferred. */
  hold(tx: Writer, delivery: Delivery, message: Message, error: Failure | null): Delivery {
    this.#put(tx, delivery, message, { held: true });
    if (!error) return delivery;
    const deferred = defer(delivery, error, this.#deps.clock.now());
    this.#deps.store.moveDelivery(tx, deferred);
    return deferred;
  }

  /** Releases a held delivery, which then waits like any other. */
  release(tx: Writer, delivery: Delivery): void {
    this.#put(tx, delivery, this.#messageOf(tx, delivery), {});
    this.#deps.inbox.beginNextTurn(tx, delivery.recipient_agent_id);
  }

  /**
   * Retries a delivery, and ends the pause of its recipient. For a pending delivery that waits for the end of that
   * pause, this is all. Throws `delivery_state` if the delivery cannot be retried.
   */
  retry(tx: Writer, before: Delivery): void {
    const { recipient_agent_id: recipient } = before;
    if (before.status === 'pending' && this.#deps.inbox.holds.isPaused(tx, recipient)) {
      this.#deps.inbox.endHold(tx, recipient);
      this.#deps.inbox.beginNextTurn(tx, recipient);
      return;
    }
    const delivery = retry(before, this.#deps.clock.now());
    this.#deps.store.moveDelivery(tx, delivery);
    this.#deps.inbox.endHold(tx, recipient);
    this.dispatch(tx, delivery, this.#messageOf(tx, delivery));
  }

  cancel(tx: Writer, delivery: Delivery): void {
    this.#deps.inbox.entries.remove(tx, OWNER, delivery.id);
    this.#deps.store.moveDelivery(tx, cancel(delivery, this.#deps.clock.now()));
  }

  giveUp(tx: Writer, delivery: Delivery, error: Failure): void {
    this.#deps.inbox.entries.remove(tx, OWNER, delivery.id);
    this.#fail(tx, delivery, error);
  }

  #put(
    tx: Writer,
    { id: ref, recipient_agent_id: session_id }: Delivery,
    { priority }: Message,
    flags: { held?: boolean; interrupts?: boolean },
  ): void {
    const entry = { session_id, owner: OWNER, ref, rank: ranks[priority], ...flags };
    this.#deps.inbox.entries.put(tx, entry);
  }

  #inboxOwner(): InboxSource {
    return {
      content: (tx, { ref }) => {
        const message = this.#cachedMessage(tx, this.#delivery(tx, ref));
        const title =
          this.#deps.store.member(tx, message.team_id, message.sender_agent_id)?.title ?? null;
        const source = message.onboarding ? 'onboarding' : 'team_message';
        return { source, input: messageInput(message, title) };
      },
      injecting: (tx, ref, turn) => this.#move(tx, ref, (one, now) => inject(one, turn, now)),
      injected: (tx, ref) => this.#move(tx, ref, injected),
      deferred: (tx, ref, turn) => this.#deferred(tx, this.#delivery(tx, ref), turn),
      ended: (tx, ref, turn) => {
        const finished = afterTurn(this.#delivery(tx, ref), turn, this.#deps.clock.now());
        const kind = finished.consumed_at === null ? 'injected' : 'consumed';
        this.#deps.store.moveDelivery(tx, finished, `delivery.${kind}`);
        return false;
      },
      unreachable: (tx, ref, session) => {
        const obstacle = unreachable(session);
        if (obstacle) this.#fail(tx, this.#delivery(tx, ref), obstacle);
        return obstacle === null;
      },
    };
  }

  /** Updates a delivery whose turn did not start. Returns whether it still waits: its message or team may be gone. */
  #deferred(tx: Writer, delivery: Delivery, turn: Turn): boolean {
    const now = this.#deps.clock.now();
    const isCancelled =
      this.#messageOf(tx, delivery).cancelled_at !== null ||
      this.#deps.store.team(tx, delivery.team_id).deleted_at !== null;
    const obstacle = isCancelled ? null : this.#obstacle(tx, delivery);
    if (isCancelled) this.#deps.store.moveDelivery(tx, cancel(delivery, now));
    else if (obstacle) this.#fail(tx, delivery, obstacle);
    else this.#deps.store.moveDelivery(tx, defer(delivery, errorOf(turn), now));
    return !isCancelled && obstacle === null;
  }

  #obstacle(rx: Reader, { team_id, recipient_agent_id: recipient }: Delivery): Failure | null {
    if (this.#deps.store.member(rx, team_id, recipient))
      return unreachable(this.#deps.sessionStore.session(rx, recipient));
    return recipientLeft(recipient);
  }

  #fail(tx: Writer, delivery: Delivery, error: Failure): void {
    this.#deps.store.moveDelivery(tx, fail(delivery, error, this.#deps.clock.now()));
  }

  #move(tx: Writer, ref: string, change: (delivery: Delivery, now: number) => Delivery): void {
    this.#deps.store.moveDelivery(tx, change(this.#delivery(tx, ref), this.#deps.clock.now()));
  }

  #delivery(rx: Reader, id: string): Delivery {
    const delivery = this.#deps.store.deliveries.get(rx, id);
    if (!delivery)
      throw new Error(`an inbox entry refers to the delivery ${id}, which does not exist`);
    return delivery;
  }

  #cachedMessage(rx: Reader, delivery: Delivery): Message {
    if (this.#lastRead?.id !== delivery.message_id) this.#lastRead = this.#messageOf(rx, delivery);
    return this.#lastRead;
  }

  #messageOf(rx: Reader, { team_id, message_id }: Delivery): Message {
    return this.#deps.store.message(rx, team_id, message_id);
  }
}

export function recipientLeft(recipient: string): Failure {
  return { code: 'recipient_left', message: `session ${recipient} has left the team` };
}

/** Returns why no message can reach a session any more; null if one can. */
function unreachable({ id, status }: Session): Failure | null {
  if (status !== 'closed' && status !== 'failed') return null;
  return { code: `recipient_${status}`, message: `session ${id} ${unreachableBecause[status]}` };
}

const unreachableBecause = { closed: 'is closed', failed: 'has failed: resume it, then retry' };

/** Returns the input for a recipient: the framed message, then its images. `title`: of the sender in the team. */
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
