import type { Endpoint } from '../api/endpoint.ts';
import { endpoints } from '../api/index.ts';
import { isUnreachable, unreachableError } from '../api/errors.ts';
import type { CallInput } from './client.ts';
import type { ServerSnapshot, ServerEntry, Servers } from './servers.ts';

/** The lists of several servers as one. */
export interface Joined {
  /** The newest first, each with the name of its server. */
  records: readonly object[];
  /** The cursor of the next page, where there is one. */
  headers: { 'x-next-cursor'?: string };
  /** The server of each record. */
  owners: ReadonlyMap<string, ServerEntry>;
  /** Why servers did not answer, each as a sentence, by the names of the servers. */
  away: ReadonlyMap<string, string>;
}

type Row = Readonly<Record<string, unknown>>;
type Query = Readonly<Record<string, unknown>> & {
  limit?: number | undefined;
  cursor?: string | undefined;
};

/** A list that is asked of all servers: the field with the ids, and where its last state is kept. */
interface List {
  id: string;
  kept?: keyof Omit<ServerSnapshot, 'at'>;
  /** The filter with which it is kept. */
  keptOf?: string;
}

const lists = new Map<Endpoint, List>([
  [endpoints.listSessions, { id: 'id', kept: 'sessions' }],
  [endpoints.listApprovals, { id: 'id', kept: 'approvals', keptOf: 'pending' }],
  [endpoints.listProcesses, { id: 'process_id', kept: 'processes' }],
  [endpoints.listWorktrees, { id: 'id' }],
  [endpoints.listTeams, { id: 'id' }],
  [endpoints.listQueue, { id: 'id' }],
  [endpoints.listWatches, { id: 'watch_id' }],
  [endpoints.listBudgets, { id: 'id' }],
  [endpoints.listRaces, { id: 'id' }],
  [endpoints.search, { id: 'session_id' }],
  [endpoints.listHooks, { id: 'name' }],
]);

export function listOf(endpoint: Endpoint): List | undefined {
  return lists.get(endpoint);
}

/**
 * A page of a list of all servers: of each server, the number of records in the query. A server that does not answer
 * contributes its last known records, with their time as `last_known_at`. Throws `unreachable` if no server answers.
 */
export async function joinLists<E extends Endpoint>(
  servers: Servers,
  endpoint: E,
  input: CallInput<E>,
  signal?: AbortSignal,
): Promise<Joined> {
  const list = lists.get(endpoint) ?? { id: 'id' };
  const { query = {} } = input as { query?: Query };
  const cursors =
    query.cursor === undefined ? null : (JSON.parse(query.cursor) as Record<string, string>);
  const entries = (await servers.list()).filter(({ name }) => !cursors || name in cursors);
  const pages = await Promise.all(
    entries.map((entry) => {
      const cursor = cursors?.[entry.name];
      const ask = { servers, endpoint, list, signal, query: { ...query, cursor } };
      return pageOf(entry, ask);
    }),
  );
  if (pages.length > 0 && pages.every(({ remark }) => remark !== null) && !cursors)
    throw unreachableError(pages.map(({ remark }) => remark).join('; '));
  const next = pages.flatMap(({ entry, next }) => (next === undefined ? [] : [[entry.name, next]]));
  return {
    records: query.order === 'best' ? inTurns(pages) : newestFirst(pages),
    headers: next.length === 0 ? {} : { 'x-next-cursor': JSON.stringify(Object.fromEntries(next)) },
    owners: new Map(
      pages.flatMap(({ entry, rows }) => rows.map((row) => [String(row[list.id]), entry] as const)),
    ),
    away: new Map(
      pages.flatMap(({ entry, remark }) =>
        remark === null ? [] : [[entry.name, remark] as const],
      ),
    ),
  };
}

function newestFirst(pages: readonly Page[]): Row[] {
  return pages.flatMap(({ rows }) => rows).toSorted((a, b) => timeOf(b) - timeOf(a));
}

/** The best of each server, then the second best of each: how good one is can be said on its own server alone. */
function inTurns(pages: readonly Page[]): Row[] {
  return pages
    .flatMap(({ rows }) => rows.map((row, index) => ({ row, index })))
    .toSorted((a, b) => a.index - b.index)
    .map(({ row }) => row);
}

interface Page {
  entry: ServerEntry;
  rows: readonly Row[];
  next?: string | undefined;
  /** Why it could not be asked; null where it was. */
  remark: string | null;
}

interface Asking {
  servers: Servers;
  endpoint: Endpoint;
  list: List;
  query: Query;
  signal: AbortSignal | undefined;
}

async function pageOf(entry: ServerEntry, ask: Asking): Promise<Page> {
  const { servers, endpoint, list, query, signal } = ask;
  const { name, client } = entry;
  if (!client) return lastKnown(entry, entry.detail ?? name, ask);
  try {
    const { value, headers } = await client.ask(endpoint, { query } as CallInput<Endpoint>, signal);
    const found = value as readonly Row[];
    const next = headers['x-next-cursor'] as string | undefined;
    if (list.kept && isWhole(list, query, found.length))
      await servers.remember?.(name, { [list.kept]: found });
    return { entry, rows: found.map((row) => ({ node: name, ...row })), next, remark: null };
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    return lastKnown(entry, error.message, ask);
  }
}

/** The last known records of a server that does not answer, as far as they match the query. */
async function lastKnown(
  entry: ServerEntry,
  why: string,
  { servers, list, query }: Asking,
): Promise<Page> {
  const known = list.kept ? await servers.known(entry.name) : null;
  if (!known || !list.kept) return { entry, rows: [], remark: why };
  const { limit, cursor: _, ...wanted } = query;
  const rows = (known[list.kept] as unknown as readonly Row[])
    .filter((row) =>
      Object.entries(wanted).every(([field, value]) => value === undefined || row[field] === value),
    )
    .slice(0, limit)
    .map((row) => ({ node: entry.name, ...row, last_known_at: known.at }));
  return { entry, rows, remark: `${why}: showing its last known data` };
}

/** Whether an answer is all that is kept of a server: its first page, without a filter. */
function isWhole(
  { keptOf }: List,
  { limit = KEPT_LIMIT, ...query }: Query,
  found: number,
): boolean {
  const filters = Object.entries(query).filter(([, value]) => value !== undefined);
  const isKept = filters.every(([field, value]) => field === 'status' && value === keptOf);
  return (
    isKept &&
    filters.length === (keptOf === undefined ? 0 : 1) &&
    (found < limit || limit >= KEPT_LIMIT)
  );
}

/** An answer of fewer records than there are is kept only if it has at least so many. */
const KEPT_LIMIT = 100;

function timeOf({ created_at, queued_at }: Row): number {
  return Number(created_at ?? queued_at ?? 0);
}
