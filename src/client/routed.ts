import type http from 'node:http';
import type { Endpoint, ResponseOf } from '../api/endpoint.ts';
import { endpoints } from '../api/index.ts';
import { AppError, isUnreachable, unreachableError } from '../api/errors.ts';
import { usable } from './addresses.ts';
import { type Joined, joinLists, listOf } from './join-lists.ts';
import { type Answer, type CallInput, Client } from './client.ts';
import type { ServerEntry, Servers } from './servers.ts';
import type { RequestInput } from './wire.ts';
import type { UsageReport, UsageRow } from '../api/usage.ts';
import { mostTokensFirst, plus } from '../core/lib/usage-sums.ts';

/**
 * Calls several servers as if they were one. Lists have the records of all servers, each with the name of its server as
 * `node`. Usage is the sum of all servers. A call that names a record goes to its server, and any other call to the
 * first server.
 */
export class RoutedClient extends Client {
  readonly servers: Servers;
  /** The address of the first server. */
  readonly url: string;
  /** The servers of the ids that were found so far. */
  readonly #owners = new Map<string, ServerEntry & { client: Client }>();
  readonly #used = new Set<Client>();
  /** Why servers did not answer, by their names. */
  readonly #away = new Map<string, string>();

  constructor(servers: Servers, url: string) {
    super();
    this.servers = servers;
    this.url = url;
  }

  override async call<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
    key?: string,
  ): Promise<ResponseOf<E>> {
    const { value } = await this.ask(endpoint, input, signal, key);
    const { limit } = (input as { query?: { limit?: number } }).query ?? {};
    // A joined page has `limit` records of each server. Callers of `ask` read further pages, so only `call` cuts it.
    return Array.isArray(value) && listOf(endpoint)
      ? (value.slice(0, limit) as typeof value)
      : value;
  }

  protected override async send(
    endpoint: Endpoint,
    request: RequestInput,
  ): Promise<Answer<unknown>> {
    const { signal, key } = request;
    const input = request as CallInput<Endpoint>;
    const list = listOf(endpoint);
    const id = idIn(request);
    if (list && id === null) {
      const joined = await joinLists(this.servers, endpoint, input, signal);
      this.#learn(joined);
      return { value: joined.records, headers: joined.headers };
    }
    if (endpoint === endpoints.getUsage) {
      const { report, away } = await joinUsage(this.servers, input, signal);
      this.#note(away);
      return { value: report, headers: {} };
    }
    const { name, client } = await this.#serverFor(id);
    const answer = await client.ask(endpoint, input, signal, key);
    if (!list) return answer;
    return { ...answer, value: (answer.value as object[]).map((one) => ({ node: name, ...one })) };
  }

  override async open<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    signal?: AbortSignal,
  ): Promise<http.IncomingMessage> {
    return (await this.#serverFor(idIn(input))).client.open(endpoint, input, signal);
  }

  override async clientOf(id: string): Promise<Client> {
    return (await this.#serverFor(id)).client;
  }

  override async first(): Promise<Client> {
    return usable(await this.servers.first()).client;
  }

  override misunderstanding(): AppError | null {
    for (const client of this.#used) {
      const found = client.misunderstanding();
      if (found) return found;
    }
    return null;
  }

  override remarks(): readonly string[] {
    return [...this.#away.values()];
  }

  override close(): void {
    this.servers.close();
  }

  /** The server of a record; without an id, the one that gets new work. Throws as `serverOf` and `first`. */
  async #serverFor(id: string | null): Promise<ServerEntry & { client: Client }> {
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

/** The servers behind a client. Null if it calls one server. */
export function serversOf(client: Client): Servers | null {
  return client instanceof RoutedClient ? client.servers : null;
}

const RECORD = /^(sess|proc|team|wt|que|bud|race)_[0-9a-f]{32}$/;

/** Returns the first record id in the path, query or body of an input. Null if the input has none, such as a search. */
function idIn(input: unknown): string | null {
  const { params, query, body } = input as Record<string, Record<string, unknown> | undefined>;
  const values = [params, { ...query, q: null }, body].flatMap((part) =>
    Object.values(part ?? {}).flat(),
  );
  const found = values.find((value) => typeof value === 'string' && RECORD.test(value));
  return typeof found === 'string' ? found : null;
}

/**
 * The usage of the turns of several servers together, and why servers did not answer: a sentence by the name of each.
 * Throws `unreachable` if no server answers.
 */
async function joinUsage(
  servers: Servers,
  input: CallInput<typeof endpoints.getUsage>,
  signal?: AbortSignal,
): Promise<{ report: UsageReport; away: ReadonlyMap<string, string> }> {
  const reports: UsageReport[] = [];
  const away = new Map<string, string>();
  const ask = async ({ name, client, detail }: ServerEntry) => {
    try {
      if (!client) throw unreachableError(detail ?? name);
      reports.push(await client.call(endpoints.getUsage, input, signal));
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      away.set(name, `${error.message}: its usage is not included`);
    }
  };
  await Promise.all((await servers.list()).map(ask));
  const [first, ...others] = reports;
  if (!first) throw unreachableError([...away.values()].join('; '));
  const report = others.reduce(together, first);
  const { limit } = input.query ?? {};
  const rows = ordered(report).slice(0, limit);
  return {
    report: { ...report, rows, left_out: report.left_out + report.rows.length - rows.length },
    away,
  };
}

function together(a: UsageReport, b: UsageReport): UsageReport {
  const rows = new Map<string, UsageRow>();
  for (const row of [...a.rows, ...b.rows]) {
    const name = JSON.stringify([row.key, row.agent]);
    const before = rows.get(name);
    rows.set(name, before ? { ...before, ...plus(before, row) } : row);
  }
  return {
    ...a,
    since: Math.min(a.since, b.since),
    until: Math.max(a.until, b.until),
    rows: [...rows.values()],
    left_out: a.left_out + b.left_out,
    total: plus(a.total, b.total),
  };
}

/** Days: the newest first. Others: the one with the most tokens first. */
function ordered({ by, rows }: UsageReport): UsageRow[] {
  return rows.toSorted(
    by === 'day' ? (a, b) => (b.key ?? '').localeCompare(a.key ?? '') : mostTokensFirst,
  );
}
