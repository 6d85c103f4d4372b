import { endpoints } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { AppError } from '../errors.ts';

/** The placeholder of an argument that names a session, and what it may be. */
export const sessionArgument = [
  '<session>',
  'its id, or the last 6 or more characters of it',
] as const;

/** Throws `usage` for an end of an id that is too short to mean one thing. */
export function assertLongEnough(end: string): void {
  if (end.length >= 6) return;
  throw new AppError(
    'usage',
    `"${end}" is too short: give the last 6 characters of an id, or more`,
  );
}

/** The whole id of a session behind its last characters. Throws `not_found`, or `usage` where several end so. */
export async function sessionId(client: Client, end: string): Promise<string> {
  if (/^sess_[0-9a-f]{32}$/.test(end)) return end;
  assertLongEnough(end);
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const { value, headers } = await client.ask(endpoints.listSessions, {
      query: { limit: 500, cursor },
    });
    found.push(...value.map(({ id }) => id).filter((id) => id.endsWith(end)));
    cursor = headers['x-next-cursor'] as string | undefined;
  } while (cursor !== undefined);
  return onlyOne(found, end, 'session', (id) => id);
}

/** A turn of a session: the named one, else the most recent. Throws `not_found` where there is none. */
export async function turnParams(
  client: Client,
  session: string,
  turn: string | undefined,
): Promise<{ session_id: string; turn_id: string }> {
  const session_id = await sessionId(client, session);
  if (turn !== undefined) return { session_id, turn_id: turn };
  const { last_turn_id } = await client.call(endpoints.getSession, { params: { session_id } });
  if (last_turn_id === null)
    throw new AppError('not_found', `session ${session_id} has no turn yet`);
  return { session_id, turn_id: last_turn_id };
}

/** The one that was meant. Throws `not_found`, or `usage` where several end so. */
export function onlyOne<T>(
  found: readonly T[],
  end: string,
  what: string,
  idOf: (one: T) => string,
): T {
  const [only, ...others] = found;
  if (only === undefined)
    throw new AppError('not_found', `no ${what} ends with "${end}"; see cadre ${what}s list`);
  if (others.length === 0) return only;
  throw new AppError('usage', `several ${what}s end with "${end}": ${found.map(idOf).join(', ')}`);
}
