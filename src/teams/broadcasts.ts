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

/** A message to at most so many is stored and sent in one transaction. */
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
 * held back; with the last of them the answer is kept. Only then are they sent on their way. The rows say how far
 * that came: a message with fewer deliveries than recipients was answered to nobody and is taken back, by the next
 * start too; of a complete one, deliveries that are pending and held are still to be sent.
 */
export class Broadcasts {
  readonly #given: BroadcastsDependencies;
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();

  constructor(given: BroadcastsDependencies) {
    this.#given = given;
  }

  /**
   * Stores the deliveries of a message that was stored, and answers once all are on disk, each as it was then:
   * pending, or deferred by `limit`. They are sent on their way after that. Throws what storing throws, and
   * `team_deleted` or `delivery_state` where team or message were taken back meanwhile: then all of it is.
   */
  async send(
    message: Message,
    limit: Failure | null,
    keep: Keep,
  ): Promise<{ message: Message; deliveries: Delivery[] }> {
    const deliveries: Delivery[] = [];
    const hold = (one: string) => deliveries.push(this.#hold(message, one, limit));
    const last = message.recipient_agent_ids.slice(-1);
    try {
      await this.#inSlices(message.recipient_agent_ids.slice(0, -1), hold, (work) =>
        this.#given.db.transact(() => {
          this.#assertGoesOn(message);
          work();
        }),
      );
      await this.#given.db.transact(() => {
        this.#assertGoesOn(message);
        for (const one of last) hold(one);
        keep({ message, deliveries });
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
    this.#given.failpoint('broadcast.stored');
    this.#dispatch(message);
    return { message, deliveries };
  }

  /** What a dead server had begun: taken back, or sent on its way. */
  async takeUp(): Promise<void> {
    for (const message of await this.#given.db.read(() => this.#given.store.heldMessages())) {
      const stored = await this.#given.db.read(
        () => this.#given.store.deliveryIdsOf(message.id).length,
      );
      if (stored < message.recipient_agent_ids.length) await this.#takeBack(message);
      else this.#dispatch(message);
    }
  }

  /** Leaves what is not sent yet for the next start; resolves once nothing is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#underWay);
  }

  /** Stores a delivery that is not to be sent yet. */
  #hold(message: Message, recipient: string, limit: Failure | null): Delivery {
    const delivery = newDelivery(
      this.#given.ids.next('dlv'),
      message,
      recipient,
      this.#given.clock.now(),
    );
    this.#given.store.createDelivery(delivery);
    // A person may have spoken to the team since.
    const isOver = this.#given.store.hops(message.team_id) > 0 ? limit : null;
    return this.#given.dispatcher.hold(delivery, message, isOver);
  }

  /** Sends on its way what is held, in the background; a disk that refuses is asked again. */
  #dispatch(message: Message): void {
    const { signal } = this.#stopping;
    const given = { db: this.#given.db, clock: this.#given.clock, logger: this.#given.logger };
    const work = async () => {
      const ids = await this.#given.db.read(() => this.#given.store.deliveryIdsOf(message.id));
      const send = (id: string) => {
        const delivery = this.#given.store.deliveries.get(id);
        if (delivery?.status === 'pending') this.#given.dispatcher.dispatch(delivery, message);
      };
      await this.#inSlices(ids, send, async (slice) => {
        if (!signal.aborted) await persist(given, signal, { message_id: message.id }, slice);
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

  /** Cancels a message that nobody was told of. */
  async #takeBack({ id, team_id }: Message): Promise<void> {
    const ids = await this.#given.db.transact(() => {
      const message = this.#given.store.message(team_id, id);
      if (message.cancelled_at === null)
        this.#given.store.cancelMessage({ ...message, cancelled_at: this.#given.clock.now() });
      return this.#given.store.deliveryIdsOf(id);
    });
    const cancel = (one: string) => {
      const delivery = this.#given.store.deliveries.get(one);
      if (delivery && waits(delivery)) this.#given.dispatcher.cancel(delivery);
    };
    await this.#inSlices(ids, cancel, (work) => this.#given.db.transact(work));
  }

  /** Does something with each of many, a slice in each call of `run`; others are served in between. */
  async #inSlices(
    items: readonly string[],
    step: (item: string) => void,
    run: (work: () => void) => Promise<void>,
  ): Promise<void> {
    for (let at = 0; at < items.length;) {
      const from = at;
      await run(() => {
        at = runSlice(this.#given.clock, items, from, step);
      });
      this.#given.failpoint('broadcast.slice');
      await yieldToEventLoop();
    }
  }

  #assertGoesOn({ team_id, id }: Message): void {
    this.#given.store.openTeam(team_id);
    if (this.#given.store.message(team_id, id).cancelled_at !== null)
      throw new AppError('delivery_state', `message ${id} was cancelled while it was sent`);
  }
}
