import { FollowingAddresses } from '../client/follow-addresses.ts';
import type { FollowAll, Following, FromServer, ServerEntry } from '../client/servers.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';

/** The events of the nodes that are found when the reading begins, each from its own log. */
export class FollowingNodes implements Following {
  readonly #list: () => Promise<ServerEntry[]>;
  readonly #follow: (entries: readonly ServerEntry[]) => Following;
  readonly #from: FollowAll['from'];
  #following: Following | undefined;

  constructor(
    list: () => Promise<ServerEntry[]>,
    clock: Clock,
    options: FollowAll,
    signal: AbortSignal,
  ) {
    this.#list = list;
    this.#from = options.from;
    this.#follow = (entries) => {
      const wanted = entries.filter(({ name }) => (options.node ?? name) === name);
      const addresses = wanted.map(({ name, url, client, detail }) => ({
        name,
        url,
        client: client ?? new AppError('unreachable', detail ?? `${name} is unreachable`),
      }));
      return new FollowingAddresses(addresses, clock, options, signal);
    };
  }

  cursor(): string {
    if (this.#following) return this.#following.cursor();
    return typeof this.#from === 'object' && 'cursor' in this.#from ? this.#from.cursor : '{}';
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FromServer, void> {
    this.#following = this.#follow(await this.#list());
    yield* this.#following;
  }
}
