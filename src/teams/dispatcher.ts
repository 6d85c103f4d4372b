import type { Session, Turn } from '../api/sessions.ts';
import type { Delivery, Message } from '../api/team-messages.ts';
import type { Clock } from '../lib/clock.ts';
import type { Inbox, InboxOwner } from '../sessions/inbox.ts';
import type { SessionStore } from '../sessions/store.ts';
import {
  cancel,
  defer,
  endOf,
  fail,
  type Failure,
  finish,
  inject,
  injected,
  retry,
} from './delivery.ts';
import type { TeamStore } from './store.ts';
import { wordsOf } from './words.ts';

const OWNER = 'team';
const ranks: Record<Message['priority'], number> = { high: 0, normal: 1, low: 2 };

interface DispatcherDependencies {
  store: TeamStore;
  sessionStore: SessionStore;
  inbox: Inbox;
  clock: Clock;
}

/** Brings deliveries to their recipients, by way of the inbox. Everything here runs inside a transaction. */
export class Dispatcher {
  readonly #given: DispatcherDependencies;
  /** The message that was told last: a large team is told the same one, and what it says never changes. */
  #said: Message | undefined;

  constructor(given: DispatcherDependencies) {
    this.#given = given;
    given.inbox.register(OWNER, this.#answers());
  }

  /** Sends a pending delivery on its way, as its message wants it. */
  dispatch(delivery: Delivery, message: Message): void {
    const { recipient_agent_id: recipient } = delivery;
    const { policy } = message;
    const obstacle = this.#obstacle(delivery);
    if (obstacle) return this.#fail(delivery, obstacle);
    if (policy === 'start_new_turn_only' && !this.#given.inbox.isFree(recipient))
      return this.#fail(delivery, {
        code: 'recipient_busy',
        message: `session ${recipient} is at work, or was stopped: retry when it is idle`,
      });
    const interrupts = policy === 'interrupt_after_tool_boundary';
    this.#put(delivery, message, { interrupts });
    if (interrupts || policy === 'immediate_interrupt') this.#given.inbox.wake(recipient);
    if (interrupts) this.#given.inbox.atBoundary(recipient);
    else if (policy === 'immediate_interrupt') this.#given.inbox.interruptNow(recipient);
    this.#given.inbox.look(recipient);
  }

  /** Holds a delivery back until it is dispatched or released; `error`, where given, is why it is deferred. */
  hold(delivery: Delivery, message: Message, error: Failure | null): Delivery {
    this.#put(delivery, message, { held: true });
    if (!error) return delivery;
    const deferred = defer(delivery, error, this.#given.clock.now());
    this.#given.store.moveDelivery(deferred);
    return deferred;
  }

  /** A delivery that was held waits like any other. */
  release(delivery: Delivery): void {
    const message = this.#given.store.message(delivery.team_id, delivery.message_id);
    this.#put(delivery, message, {});
    this.#given.inbox.look(delivery.recipient_agent_id);
  }

  /**
   * A delivery is tried again: its recipient is spoken to. For one that waits because its recipient is left alone,
   * that is all it takes. Throws `delivery_state` where there is nothing to try again.
   */
  retry(waiting: Delivery): void {
    const { recipient_agent_id: recipient } = waiting;
    if (waiting.status === 'pending' && this.#given.inbox.isPaused(recipient)) {
      this.#given.inbox.wake(recipient);
      this.#given.inbox.look(recipient);
      return;
    }
    const delivery = retry(waiting, this.#given.clock.now());
    this.#given.store.moveDelivery(delivery);
    this.#given.inbox.wake(recipient);
    this.dispatch(delivery, this.#given.store.message(delivery.team_id, delivery.message_id));
  }

  /** Takes a delivery back that waits. */
  cancel(delivery: Delivery): void {
    this.#given.inbox.remove(OWNER, delivery.id);
    this.#given.store.moveDelivery(cancel(delivery, this.#given.clock.now()));
  }

  /** Fails a delivery that waits. */
  giveUp(delivery: Delivery, error: Failure): void {
    this.#given.inbox.remove(OWNER, delivery.id);
    this.#fail(delivery, error);
  }

  #put(
    { id: ref, recipient_agent_id: session_id }: Delivery,
    { priority }: Message,
    how: { held?: boolean; interrupts?: boolean },
  ): void {
    this.#given.inbox.put({ session_id, owner: OWNER, ref, rank: ranks[priority], ...how });
  }

  #answers(): InboxOwner {
    return {
      words: ({ ref }) => {
        const message = this.#saidIn(this.#delivery(ref));
        const title =
          this.#given.store.member(message.team_id, message.sender_agent_id)?.title ?? null;
        const source = message.onboarding ? 'onboarding' : 'team_message';
        return { source, input: wordsOf(message, title) };
      },
      injecting: (ref, turn) => this.#move(ref, (one, now) => inject(one, turn, now)),
      injected: (ref) => this.#move(ref, injected),
      deferred: (ref, turn) => this.#deferred(this.#delivery(ref), turn),
      over: (ref, turn) => {
        const finished = finish(this.#delivery(ref), turn, this.#given.clock.now());
        this.#given.store.moveDelivery(
          finished,
          finished.consumed_at === null ? 'delivery.injected' : 'delivery.consumed',
        );
      },
      unreachable: (ref, session) => {
        const obstacle = unreachable(session);
        if (obstacle) this.#fail(this.#delivery(ref), obstacle);
        return obstacle === null;
      },
    };
  }

  /** Whether what came back from a turn that did not start goes on waiting: somebody may have taken it back. */
  #deferred(delivery: Delivery, turn: Turn): boolean {
    const now = this.#given.clock.now();
    const isTakenBack =
      this.#messageOf(delivery).cancelled_at !== null ||
      this.#given.store.team(delivery.team_id).deleted_at !== null;
    const obstacle = isTakenBack ? null : this.#obstacle(delivery);
    if (isTakenBack) this.#given.store.moveDelivery(cancel(delivery, now));
    else if (obstacle) this.#fail(delivery, obstacle);
    else this.#given.store.moveDelivery(defer(delivery, endOf(turn), now));
    return !isTakenBack && obstacle === null;
  }

  #obstacle({ team_id, recipient_agent_id: recipient }: Delivery): Failure | null {
    if (this.#given.store.member(team_id, recipient))
      return unreachable(this.#given.sessionStore.session(recipient));
    return recipientLeft(recipient);
  }

  #fail(delivery: Delivery, error: Failure): void {
    this.#given.store.moveDelivery(fail(delivery, error, this.#given.clock.now()));
  }

  #move(ref: string, change: (delivery: Delivery, now: number) => Delivery): void {
    this.#given.store.moveDelivery(change(this.#delivery(ref), this.#given.clock.now()));
  }

  #delivery(id: string): Delivery {
    const delivery = this.#given.store.deliveries.get(id);
    if (!delivery) throw new Error(`an entry of the inbox names no delivery: ${id}`);
    return delivery;
  }

  #saidIn(delivery: Delivery): Message {
    if (this.#said?.id !== delivery.message_id) this.#said = this.#messageOf(delivery);
    return this.#said;
  }

  #messageOf({ team_id, message_id }: Delivery): Message {
    return this.#given.store.message(team_id, message_id);
  }
}

export function recipientLeft(recipient: string): Failure {
  return { code: 'recipient_left', message: `session ${recipient} has left the team` };
}

/** Why nothing reaches a session any more, or null. */
function unreachable({ id, status }: Session): Failure | null {
  if (status !== 'closed' && status !== 'failed') return null;
  return { code: `recipient_${status}`, message: `session ${id} ${saidOf[status]}` };
}

const saidOf = { closed: 'is closed', failed: 'has failed: resume it, then retry' };
