import { endpoints } from '../api/index.ts';
import type { Answer, Client } from '../client/client.ts';
import { AppError } from '../errors.ts';

/** The placeholder and the description of an argument that is an id. */
export function idArgument(noun: string): [placeholder: string, what: string] {
  return [`<${noun}>`, 'its id, or the last 6 or more characters of it'];
}

export const processArgument = idArgument('process');
export const sessionArgument = idArgument('session');
export const teamArgument = idArgument('team');
export const worktreeArgument = idArgument('worktree');

/** Throws `usage` for the end of an id that is too short to be unambiguous. */
export function assertLongEnough(end: string): void {
  if (end.length >= 6) return;
  throw new AppError(
    'usage',
    `"${end}" is too short: give the last 6 characters of an id, or more`,
  );
}

/** The whole id of a session from its last characters. Throws as `findByEnd`, and so do the functions below. */
export async function sessionId(client: Client, end: string): Promise<string> {
  if (/^sess_[0-9a-f]{32}$/.test(end)) return end;
  const pages = pagesOf((query) => client.ask(endpoints.listSessions, { query }));
  return (await findByEnd(pages, end, 'session', ({ id }) => id)).id;
}

/** The whole id of a worktree from its last characters. */
export async function worktreeId(client: Client, end: string): Promise<string> {
  if (/^wt_[0-9a-f]{32}$/.test(end)) return end;
  const pages = pagesOf((query) => client.ask(endpoints.listWorktrees, { query }));
  return (await findByEnd(pages, end, 'worktree', ({ id }) => id)).id;
}

/** The whole id of a process from its last characters. */
export async function processId(client: Client, end: string): Promise<string> {
  if (/^proc_[0-9a-f]{32}$/.test(end)) return end;
  const pages = pagesOf((query) => client.ask(endpoints.listProcesses, { query }));
  const found = await findByEnd(pages, end, 'process', ({ process_id }) => process_id);
  return found.process_id;
}

/** The whole id of a team from its last characters. */
export async function teamId(client: Client, end: string): Promise<string> {
  if (/^team_[0-9a-f]{32}$/.test(end)) return end;
  const pages = pagesOf((query) => client.ask(endpoints.listTeams, { query }));
  return (await findByEnd(pages, end, 'team', ({ id }) => id)).id;
}

/** The whole id of a delivery of a team from its last characters. */
export async function deliveryId(client: Client, team_id: string, end: string): Promise<string> {
  if (/^dlv_[0-9a-f]{32}$/.test(end)) return end;
  const params = { team_id };
  const pages = pagesOf((query) => client.ask(endpoints.listDeliveries, { params, query }));
  const see = 'cadre teams deliveries';
  return (await findByEnd(pages, end, 'delivery', ({ id }) => id, see)).id;
}

/** The whole id of a message of a team from its last characters. */
export async function messageId(client: Client, team_id: string, end: string): Promise<string> {
  if (/^msg_[0-9a-f]{32}$/.test(end)) return end;
  const params = { team_id };
  const pages = pagesOf((query) => client.ask(endpoints.listMessages, { params, query }));
  return (await findByEnd(pages, end, 'message', ({ id }) => id, 'cadre teams view')).id;
}

/** The pages of a list, from the first to the last, 500 records each. */
export async function* pagesOf<T>(
  ask: (query: { limit: number; cursor?: string | undefined }) => Promise<Answer<T[]>>,
): AsyncGenerator<T[], void> {
  let cursor: string | undefined;
  do {
    const { value, headers } = await ask({ limit: 500, cursor });
    yield value;
    cursor = headers['x-next-cursor'] as string | undefined;
  } while (cursor !== undefined);
}

/** The one record whose id has this end. Throws `not_found` for none, `usage` for several and for a short end. */
export async function findByEnd<T>(
  pages: AsyncIterable<T[]>,
  end: string,
  what: string,
  idOf: (one: T) => string,
  see?: string,
): Promise<T> {
  assertLongEnough(end);
  const found: T[] = [];
  for await (const page of pages) found.push(...page.filter((one) => idOf(one).endsWith(end)));
  return onlyOne(found, end, what, idOf, see);
}

/** The most recent turn of a session. Throws `not_found` where there is none. */
export async function lastTurn(client: Client, session_id: string): Promise<string> {
  const { last_turn_id } = await client.call(endpoints.getSession, { params: { session_id } });
  if (last_turn_id !== null) return last_turn_id;
  throw new AppError('not_found', `session ${session_id} has no turn yet`);
}

/** The only record found. Throws `not_found` where none was, `usage` where several were. */
export function onlyOne<T>(
  found: readonly T[],
  end: string,
  what: string,
  idOf: (one: T) => string,
  see = `cadre ${plural(what)} list`,
): T {
  const [only, ...others] = found;
  if (only === undefined)
    throw new AppError('not_found', `no ${what} ends with "${end}"; see ${see}`);
  if (others.length === 0) return only;
  throw new AppError(
    'usage',
    `several ${plural(what)} end with "${end}": ${found.map(idOf).join(', ')}`,
  );
}

function plural(what: string): string {
  if (what.endsWith('y')) return `${what.slice(0, -1)}ies`;
  return what.endsWith('s') ? `${what}es` : `${what}s`;
}
