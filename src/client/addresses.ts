import { endpoints } from '../api/index.ts';
import { AppError, unreachableError, usageError } from '../api/errors.ts';
import type { Clock } from '../core/lib/clock.ts';
import { type Address, within } from './address.ts';
import type { Client } from './client.ts';
import { JoinedEventStream } from './joined-event-stream.ts';
import { ownerOf } from './owner.ts';
import type { ServerListCache } from './server-list-cache.ts';
import type {
  FollowAll,
  ServersEventStream,
  ServerSnapshot,
  ServerEntry,
  Servers,
} from './servers.ts';

/** For so long, in ms, the state of a server holds. */
const FRESH_MS = 2000;

export class Addresses implements Servers {
  readonly #addresses: readonly Address[];
  readonly #clock: Clock;
  readonly #lastKnown: ServerListCache;
  #asked: { at: number; entries: Promise<ServerEntry[]> } | undefined;

  constructor(addresses: readonly Address[], clock: Clock, lastKnown: ServerListCache) {
    this.#addresses = addresses;
    this.#clock = clock;
    this.#lastKnown = lastKnown;
  }

  list(): Promise<ServerEntry[]> {
    const at = this.#clock.monotonic();
    if (!this.#asked || at - this.#asked.at > FRESH_MS)
      this.#asked = { at, entries: Promise.all(this.#addresses.map((one) => this.#look(one))) };
    return this.#asked.entries;
  }

  async named(name: string): Promise<ServerEntry> {
    const found = this.#addresses.find((one) => one.name === name);
    if (found) return this.#look(found);
    const names = this.#addresses.map((one) => one.name).join(', ');
    throw usageError(`unknown server "${name}": choose from ${names}`);
  }

  async first(): Promise<ServerEntry> {
    const [first] = this.#addresses;
    if (!first) throw usageError('no server given: pass --url');
    return usable(await this.#look(first));
  }

  async serverOf(id: string): Promise<ServerEntry> {
    return ownerOf(await this.list(), id, (name) => this.known(name));
  }

  known(name: string): Promise<ServerSnapshot | null> {
    return Promise.resolve(this.#lastKnown.read(name));
  }

  remember(name: string, listed: Partial<ServerSnapshot>): Promise<void> {
    this.#lastKnown.write(name, listed);
    return Promise.resolve();
  }

  streamEvents(options: FollowAll, signal: AbortSignal): ServersEventStream {
    const addresses = this.#addresses.filter(({ name }) => (options.node ?? name) === name);
    return new JoinedEventStream(addresses, this.#clock, options, signal);
  }

  close(): void {
    for (const { client } of this.#addresses) if (!(client instanceof AppError)) client.close();
  }

  async #look({ name, url, client }: Address): Promise<ServerEntry> {
    try {
      if (client instanceof AppError) throw client;
      await within(this.#clock, (signal) => client.call(endpoints.getVersion, {}, signal));
      return { name, url, state: 'reachable', detail: null, client };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { name, url, state: 'unreachable', detail: error.message, client: null };
    }
  }
}

/** The server that may be asked. Throws `unreachable`. */
export function usable(entry: ServerEntry): ServerEntry & { client: Client } {
  const { client, detail } = entry;
  if (client) return { ...entry, client };
  throw unreachableError(detail ?? `server ${entry.name} is unreachable`);
}
