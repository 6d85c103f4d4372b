import type http from 'node:http';
import type { Endpoint, ResponseOf } from '../api/endpoint.ts';
import { endpoints } from '../api/index.ts';
import { AppError } from '../api/errors.ts';
import { usable } from './addresses.ts';
import { type Joined, joinLists, listOf } from './join-lists.ts';
import type { Answer, CallInput, Client } from './client.ts';
import { joinUsage } from './join-usage.ts';
import type { Caller, ServerEntry, Servers } from './servers.ts';

/**
 * Calls several servers as if they were one. Lists are those of all servers, with the name of the server as `node` of
 * each record; what turns have used is that of all together. A call that names a record goes to the server that has it,
 * and any other call to the first server.
 */
export class RoutedClient implements Client {
  readonly servers: Servers;
  /** Of the first server. */
  readonly url: string;
  /** The server of each id that was found so far. */
  readonly #owners = new Map<string, ServerEntry & { client: Caller }>();
  /** The callers that were used, and what could not be asked, by the name of the server. */
  readonly #used = new Set<Caller>();
  readonly #away = new Map<string, string>();

  constructor(servers: Servers, url: string) {
    this.servers = servers;
    this.url = url;
  }

  async call<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
    key?: string,
  ): Promise<ResponseOf<E>> {
    const { value } = await this.ask(endpoint, input, signal, key);
    const { limit } = (input as { query?: { limit?: number } }).query ?? {};
    // A page of several servers has so many records of each. Who asks by `ask` goes on after it, so nothing is cut there.
    return Array.isArray(value) && listOf(endpoint)
      ? (value.slice(0, limit) as typeof value)
      : value;
  }

  async ask<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
    key?: string,
  ): Promise<Answer<ResponseOf<E>>> {
    const list = listOf(endpoint);
    const id = idIn(input);
    if (list && id === null) {
      const joined = await joinLists(this.servers, endpoint, input, signal);
      this.#learn(joined);
      return { value: joined.records as ResponseOf<E>, headers: joined.headers };
    }
    if ((endpoint as Endpoint) === endpoints.getUsage) {
      const { report, away } = await joinUsage(this.servers, input as UsageInput, signal);
      this.#note(away);
      return { value: report as ResponseOf<E>, headers: {} };
    }
    const { name, client } = await this.#serverFor(id);
    const answer = await client.ask(endpoint, input, signal, key);
    if (!list) return answer;
    const records = (answer.value as object[]).map((one) => ({ node: name, ...one }));
    return { ...answer, value: records as ResponseOf<E> };
  }

  async open<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    body?: string,
    more?: { headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<http.IncomingMessage> {
    const { client } = await this.#serverFor(idIn(input));
    return client.open(endpoint, input, body, more);
  }

  /** The client of the server that has a record. Throws as `serverOf`. */
  async clientOf(id: string): Promise<Client> {
    return (await this.#serverFor(id)).client;
  }

  misunderstanding(): AppError | null {
    for (const caller of this.#used) {
      const found = caller.misunderstanding();
      if (found) return found;
    }
    return null;
  }

  remarks(): readonly string[] {
    return [...this.#away.values()];
  }

  close(): void {
    this.servers.close();
  }

  /** The server that has a record; without an id, the one where new work goes. Throws as `serverOf` and `first`. */
  async #serverFor(id: string | null): Promise<ServerEntry & { client: Caller }> {
    const known = id === null ? undefined : this.#owners.get(id);
    const entry =
      known ?? usable(await (id === null ? this.servers.first() : this.servers.serverOf(id)));
    if (id !== null) this.#owners.set(id, entry);
    this.#used.add(entry.client);
    return entry;
  }

  #learn({ owners, away }: Joined): void {
    for (const [id, entry] of owners) {
      if (entry.client) this.#owners.set(id, usable(entry));
    }
    this.#note(away);
  }

  #note(away: ReadonlyMap<string, string>): void {
    for (const [name, remark] of away) this.#away.set(name, remark);
  }
}

type UsageInput = CallInput<typeof endpoints.getUsage>;

/** The several servers that a client asks; null where it asks one. */
export function serversOf(client: Client): Servers | null {
  return client instanceof RoutedClient ? client.servers : null;
}

/** The client of the one server that has a record. Throws as `serverOf`. */
export async function clientOf(client: Client, id: string): Promise<Client> {
  return client instanceof RoutedClient ? client.clientOf(id) : client;
}

/** The client of the one server where new work goes. Throws as `first`. */
export async function firstOf(client: Client): Promise<Client> {
  return client instanceof RoutedClient ? usable(await client.servers.first()).client : client;
}

const RECORD = /^(sess|proc|team|wt|que|bud)_[0-9a-f]{32}$/;

/** The id of the first record that an input names in its path, query or body; null for none. Text to look for names none. */
function idIn(input: unknown): string | null {
  const { params, query, body } = input as Record<string, Record<string, unknown> | undefined>;
  const values = [params, { ...query, q: null }, body].flatMap((part) =>
    Object.values(part ?? {}).flat(),
  );
  const found = values.find((value) => typeof value === 'string' && RECORD.test(value));
  return typeof found === 'string' ? found : null;
}
