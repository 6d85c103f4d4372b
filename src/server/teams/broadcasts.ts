import type { Delivery, Message } from '../../api/team-messages.ts';
import { AppError } from '../../api/errors.ts';
import type { ServerParts } from '../../core/events/server-parts.ts';
import type { SaveResponse } from '../../core/store/idempotency-store.ts';
import { yieldToEventLoop, runSlice } from '../../core/lib/slices.ts';
import { persist } from '../../core/store/persist.ts';
import { type Failure, newDelivery, waits } from './delivery.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { TeamStore } from './store.ts';
import type { Reader, Writer } from '../../core/store/transaction.ts';

/** A message to more recipients is a broadcast; one to at most so many is stored and dispatched in one transaction. */
export const ONE_TRANSACTION_RECIPIENTS = 16;

interface BroadcastsDeps extends Pick<
  ServerParts,
  'db' | 'clock' | 'ids' | 'logger' | 'failpoint'
> {
  store: TeamStore;
  dispatcher: Dispatcher;
}

/**
 * Sends messages to many recipients in slices, each a transaction, yielding to the event loop between them. First every
 * delivery is stored as held; the response is stored with the last one. Only then are they dispatched. Startup recovery
 * reads the progress of a broadcast from the rows: a message with fewer deliveries than recipients got no response and
 * is cancelled; of a complete one, the pending deliveries that are still held are dispatched.
 */
export class Broadcasts {
  readonly #deps: BroadcastsDeps;
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();

  constructor(deps: BroadcastsDeps) {
    this.#deps = deps;
  }

  /**
   * Stores the deliveries of a stored message. Resolves with them once all are on disk, each pending, or deferred with
   * the error `limit`; they are dispatched after that, in the background. Throws the errors of the store, and
   * `team_deleted` or `delivery_state` if the team was deleted or the message cancelled meanwhile. On any error the
   * whole message is cancelled.
   */
  async send(
    message: Message,
    limit: Failure | null,
    saveResponse?: SaveResponse,
  ): Promise<{ message: Message; deliveries: Delivery[] }> {
    const deliveries: Delivery[] = [];
    const hold = (tx: Writer, recipient: string) =>
      deliveries.push(this.#hold(tx, message, recipient, limit));
    const last = message.recipient_agent_ids.slice(-1);
    try {
      await this.#inSlices(message.recipient_agent_ids.slice(0, -1), hold, (work) =>
        this.#deps.db.transact((tx) => {
          this.#assertNotCancelled(tx, message);
          work(tx);
        }),
      );
      await this.#deps.db.transact((tx) => {
        this.#assertNotCancelled(tx, message);
        for (const recipient of last) hold(tx, recipient);
        saveResponse?.(tx, { message, deliveries });
        tx.whenDurable(() => {
          this.#deps.failpoint('broadcast.stored');
          this.#dispatch(message);
        });
      });
    } catch (error) {
      await this.#cancel(message).catch((failure: unknown) =>
        this.#deps.logger.error(
          { err: failure, message_id: message.id },
          'a broadcast is only partly stored: the next start cancels it',
        ),
      );
      throw error;
    }
    return { message, deliveries };
  }

  /** Cancels or dispatches each broadcast that the previous run of the server left unfinished. */
  async recover(): Promise<void> {
    for (const message of await this.#deps.db.read((rx) => this.#deps.store.heldMessages(rx))) {
      const stored = await this.#deps.db.read(
        (rx) => this.#deps.store.deliveryIdsOf(rx, message.id).length,
      );
      if (stored < message.recipient_agent_ids.length) await this.#cancel(message);
      else this.#dispatch(message);
    }
  }

  /** Leaves the deliveries that are still held for the next start. Resolves once no slice runs. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#underWay);
  }

  #hold(tx: Writer, message: Message, recipient: string, limit: Failure | null): Delivery {
    const { store, ids, clock } = this.#deps;
    const delivery = newDelivery(ids.next('dlv'), message, recipient, clock.now());
    store.createDelivery(tx, delivery);
    // The hops are read again because a person may have sent a member a turn since the limit was exceeded.
    const error = store.hops(tx, message.team_id) > 0 ? limit : null;
    return this.#deps.dispatcher.hold(tx, delivery, message, error);
  }

  /** Dispatches the held deliveries in the background. A slice whose write to the disk fails is tried again. */
  #dispatch(message: Message): void {
    const { signal } = this.#stopping;
    const work = async () => {
      const ids = await this.#deps.db.read((rx) => this.#deps.store.deliveryIdsOf(rx, message.id));
      const send = (tx: Writer, id: string) => {
        const delivery = this.#deps.store.deliveries.get(tx, id);
        if (delivery?.status === 'pending') this.#deps.dispatcher.dispatch(tx, delivery, message);
      };
      await this.#inSlices(ids, send, async (slice) => {
        if (!signal.aborted) await persist(this.#deps, signal, { message_id: message.id }, slice);
        signal.throwIfAborted();
      });
    };
    const done = work()
      .catch((error: unknown) => {
        if (!signal.aborted)
          this.#deps.logger.error(
            { err: error, message_id: message.id },
            'cannot dispatch a broadcast',
          );
      })
      .finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
  }

  /** Cancels a message whose sender got no response, with its deliveries. */
  async #cancel({ id, team_id }: Message): Promise<void> {
    const ids = await this.#deps.db.transact((tx) => {
      const message = this.#deps.store.message(tx, team_id, id);
      if (message.cancelled_at === null)
        this.#deps.store.cancelMessage(tx, { ...message, cancelled_at: this.#deps.clock.now() });
      return this.#deps.store.deliveryIdsOf(tx, id);
    });
    const cancel = (tx: Writer, deliveryId: string) => {
      const delivery = this.#deps.store.deliveries.get(tx, deliveryId);
      if (delivery && waits(delivery)) this.#deps.dispatcher.cancel(tx, delivery);
    };
    await this.#inSlices(ids, cancel, (work) => this.#deps.db.transact(work));
  }

  /** Runs `step` for each item, a slice in each transaction of `run`, yielding to the event loop between them. */
  async #inSlices(
    items: readonly string[],
    step: (tx: Writer, item: string) => void,
    run: (work: (tx: Writer) => void) => Promise<unknown>,
  ): Promise<void> {
    for (let at = 0; at < items.length;) {
      const from = at;
      await run((tx) => {
        at = runSlice(this.#deps.clock, items, from, (item) => step(tx, item));
      });
      this.#deps.failpoint('broadcast.slice');
      await yieldToEventLoop();
    }
  }

  #assertNotCancelled(rx: Reader, { team_id, id }: Message): void {
    this.#deps.store.openTeam(rx, team_id);
    if (this.#deps.store.message(rx, team_id, id).cancelled_at !== null)
      throw new AppError(
        'delivery_state',
        `message ${id} was cancelled before it was sent to all recipients`,
      );
  }
}
