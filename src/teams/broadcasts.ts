import type { Delivery, Message } from '../api/teams.ts';
import { AppError } from '../errors.ts';
import type { Keep } from '../store/kept-answers.ts';
import type { Clock } from '../lib/clock.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { othersServed, slice } from '../lib/slices.ts';
import type { Database } from '../store/database.ts';
import { persist } from '../store/persist.ts';
import { type Failure, newDelivery, waits } from './delivery.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { TeamStore } from './store.ts';

/** A message to at most so many is stored and sent in one transaction. */
export const AT_ONCE = 16;

/**
 * Messages to many recipients, in slices of the event loop, each a transaction. First every delivery is stored and
 * held back; with the last of them the answer is kept. Only then are they sent on their way. The rows say how far
 * that came: a message with fewer deliveries than recipients was answered to nobody and is taken back, by the next
 * start too; of a complete one, deliveries that are pending and held are still to be sent.
 */
export class Broadcasts {
  readonly #db: Database;
  readonly #store: TeamStore;
  readonly #dispatcher: Dispatcher;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #failpoint: Failpoint;
  readonly #logger: Logger;
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();

  constructor(given: {
    db: Database;
    store: TeamStore;
    dispatcher: Dispatcher;
    clock: Clock;
    ids: Ids;
    failpoint: Failpoint;
    logger: Logger;
  }) {
    this.#db = given.db;
    this.#store = given.store;
    this.#dispatcher = given.dispatcher;
    this.#clock = given.clock;
    this.#ids = given.ids;
    this.#failpoint = given.failpoint;
    this.#logger = given.logger;
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
        this.#db.transact(() => {
          this.#assertGoesOn(message);
          work();
        }),
      );
      await this.#db.transact(() => {
        this.#assertGoesOn(message);
        for (const one of last) hold(one);
        keep({ message, deliveries });
      });
    } catch (error) {
      await this.#takeBack(message).catch((failure: unknown) =>
        this.#logger.error(
          { err: failure, message_id: message.id },
          'half of a broadcast is stored: the next start takes it back',
        ),
      );
      throw error;
    }
    this.#failpoint('broadcast.stored');
    this.#dispatch(message);
    return { message, deliveries };
  }

  /** What a dead server had begun: taken back, or sent on its way. */
  async takeUp(): Promise<void> {
    for (const message of await this.#db.read(() => this.#store.heldMessages())) {
      const stored = await this.#db.read(() => this.#store.deliveryIdsOf(message.id).length);
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
    const delivery = newDelivery(this.#ids.next('dlv'), message, recipient, this.#clock.now());
    this.#store.createDelivery(delivery);
    // A person may have spoken to the team since.
    const isOver = this.#store.hops(message.team_id) > 0 ? limit : null;
    return this.#dispatcher.hold(delivery, message, isOver);
  }

  /** Sends on its way what is held, in the background; a disk that refuses is asked again. */
  #dispatch(message: Message): void {
    const { signal } = this.#stopping;
    const given = { db: this.#db, clock: this.#clock, logger: this.#logger };
    const work = async () => {
      const ids = await this.#db.read(() => this.#store.deliveryIdsOf(message.id));
      const send = (id: string) => {
        const delivery = this.#store.deliveries.get(id);
        if (delivery?.status === 'pending') this.#dispatcher.dispatch(delivery, message);
      };
      await this.#inSlices(ids, send, async (slice) => {
        if (!signal.aborted) await persist(given, signal, { message_id: message.id }, slice);
        signal.throwIfAborted();
      });
    };
    const done = work()
      .catch((error: unknown) => {
        if (!signal.aborted)
          this.#logger.error({ err: error, message_id: message.id }, 'a broadcast was not sent');
      })
      .finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
  }

  /** Cancels a message that nobody was told of. */
  async #takeBack({ id, team_id }: Message): Promise<void> {
    const ids = await this.#db.transact(() => {
      const message = this.#store.message(team_id, id);
      if (message.cancelled_at === null)
        this.#store.cancelMessage({ ...message, cancelled_at: this.#clock.now() });
      return this.#store.deliveryIdsOf(id);
    });
    const cancel = (one: string) => {
      const delivery = this.#store.deliveries.get(one);
      if (delivery && waits(delivery)) this.#dispatcher.cancel(delivery);
    };
    await this.#inSlices(ids, cancel, (work) => this.#db.transact(work));
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
        at = slice(this.#clock, items, from, step);
      });
      this.#failpoint('broadcast.slice');
      await othersServed();
    }
  }

  #assertGoesOn({ team_id, id }: Message): void {
    this.#store.openTeam(team_id);
    if (this.#store.message(team_id, id).cancelled_at !== null)
      throw new AppError('delivery_state', `message ${id} was cancelled while it was sent`);
  }
}
