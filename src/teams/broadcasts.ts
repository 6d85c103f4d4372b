import type { Delivery, Message } from '../api/team-messages.ts';
import { AppError } from '../errors.ts';
import type { Keep } from '../store/kept-answers.ts';
import type { Clock } from '../lib/clock.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { yieldToEventLoop, runSlice } from '../lib/slices.ts';
import type { Database } from '../store/database.ts';
import { persist } from '../store/persist.ts';
import { type Failure, newDelivery, waits } from './delivery.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { TeamStore } from './store.ts';
import type { Reader, Writer } from '../store/transaction.ts';

/** A message to at most so many recipients is stored and dispatched in one transaction. */
export const AT_ONCE = 16;

interface BroadcastsDependencies {
  db: Database;
  store: TeamStore;
  dispatcher: Dispatcher;
  clock: Clock;
  ids: Ids;
  failpoint: Failpoint;
  logger: Logger;
}

/**
 * Messages to many recipients, in slices of the event loop, each a transaction. First every delivery is stored and
 * held back; with the last of them the answer is kept. Only then are they dispatched. The rows say how far a broadcast
 * came: where a message has fewer deliveries than recipients, its sender got no answer, and the message is taken back,
 * by the next start too; where it is complete, its pending deliveries that are held are still to be dispatched.
 */
export class Broadcasts {
  readonly #given: BroadcastsDependencies;
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();

  constructor(given: BroadcastsDependencies) {
    this.#given = given;
  }

  /**
   * Stores the deliveries of a stored message, and answers once all are on disk, each as it was then: pending, or
   * deferred by `limit`. They are dispatched after that, in the background. Throws what storing throws, and
   * `team_deleted` or `delivery_state` where the team was deleted or the message cancelled meanwhile: then the whole
   * message is taken back.
   */
  async send(
    message: Message,
    limit: Failure | null,
    keep: Keep,
  ): Promise<{ message: Message; deliveries: Delivery[] }> {
    const deliveries: Delivery[] = [];
    const hold = (tx: Writer, recipient: string) =>
      deliveries.push(this.#hold(tx, message, recipient, limit));
    const last = message.recipient_agent_ids.slice(-1);
    try {
      await this.#inSlices(message.recipient_agent_ids.slice(0, -1), hold, (work) =>
        this.#given.db.transact((tx) => {
          this.#assertGoesOn(tx, message);
          work(tx);
        }),
      );
      await this.#given.db.transact((tx) => {
        this.#assertGoesOn(tx, message);
        for (const recipient of last) hold(tx, recipient);
        keep(tx, { message, deliveries });
        tx.whenDurable(() => {
          this.#given.failpoint('broadcast.stored');
          this.#dispatch(message);
        });
      });
    } catch (error) {
      await this.#takeBack(message).catch((failure: unknown) =>
        this.#given.logger.error(
          { err: failure, message_id: message.id },
          'half of a broadcast is stored: the next start takes it back',
        ),
      );
      throw error;
    }
    return { message, deliveries };
  }

  /** Takes back, or dispatches, each broadcast that a dead server had begun. */
  async takeUp(): Promise<void> {
    for (const message of await this.#given.db.read((rx) => this.#given.store.heldMessages(rx))) {
      const stored = await this.#given.db.read(
        (rx) => this.#given.store.deliveryIdsOf(rx, message.id).length,
      );
      if (stored < message.recipient_agent_ids.length) await this.#takeBack(message);
      else this.#dispatch(message);
    }
  }

  /** Leaves the deliveries that are still held for the next start; resolves once no slice runs. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#underWay);
  }

  /** Stores a delivery that is not to be dispatched yet. */
  #hold(tx: Writer, message: Message, recipient: string, limit: Failure | null): Delivery {
    const delivery = newDelivery(
      this.#given.ids.next('dlv'),
      message,
      recipient,
      this.#given.clock.now(),
    );
    this.#given.store.createDelivery(tx, delivery);
    // A person may have spoken to the team since.
    const isOver = this.#given.store.hops(tx, message.team_id) > 0 ? limit : null;
    return this.#given.dispatcher.hold(tx, delivery, message, isOver);
  }

  /** Dispatches the held deliveries in the background; where the disk refuses, a slice is tried again. */
  #dispatch(message: Message): void {
    const { signal } = this.#stopping;
    const work = async () => {
      const ids = await this.#given.db.read((rx) =>
        this.#given.store.deliveryIdsOf(rx, message.id),
      );
      const send = (tx: Writer, id: string) => {
        const delivery = this.#given.store.deliveries.get(tx, id);
        if (delivery?.status === 'pending') this.#given.dispatcher.dispatch(tx, delivery, message);
      };
      await this.#inSlices(ids, send, async (slice) => {
        if (!signal.aborted) await persist(this.#given, signal, { message_id: message.id }, slice);
        signal.throwIfAborted();
      });
    };
    const done = work()
      .catch((error: unknown) => {
        if (!signal.aborted)
          this.#given.logger.error(
            { err: error, message_id: message.id },
            'a broadcast was not sent',
          );
      })
      .finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
  }

  /** Cancels a message whose sender got no answer. */
  async #takeBack({ id, team_id }: Message): Promise<void> {
    const ids = await this.#given.db.transact((tx) => {
      const message = this.#given.store.message(tx, team_id, id);
      if (message.cancelled_at === null)
        this.#given.store.cancelMessage(tx, { ...message, cancelled_at: this.#given.clock.now() });
      return this.#given.store.deliveryIdsOf(tx, id);
    });
    const cancel = (tx: Writer, deliveryId: string) => {
      const delivery = this.#given.store.deliveries.get(tx, deliveryId);
      if (delivery && waits(delivery)) this.#given.dispatcher.cancel(tx, delivery);
    };
    await this.#inSlices(ids, cancel, (work) => this.#given.db.transact(work));
  }

  /** Runs `step` for each item: a slice of them in each transaction of `run`, with others served in between. */
  async #inSlices(
    items: readonly string[],
    step: (tx: Writer, item: string) => void,
    run: (work: (tx: Writer) => void) => Promise<unknown>,
  ): Promise<void> {
    for (let at = 0; at < items.length;) {
      const from = at;
      await run((tx) => {
        at = runSlice(this.#given.clock, items, from, (item) => step(tx, item));
      });
      this.#given.failpoint('broadcast.slice');
      await yieldToEventLoop();
    }
  }

  #assertGoesOn(rx: Reader, { team_id, id }: Message): void {
    this.#given.store.openTeam(rx, team_id);
    if (this.#given.store.message(rx, team_id, id).cancelled_at !== null)
      throw new AppError('delivery_state', `message ${id} was cancelled while it was sent`);
  }
}
