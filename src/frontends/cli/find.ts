import { endpoints } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { notFoundError, usageError } from '../../api/errors.ts';
import { oneLine } from '../../core/lib/plain.ts';
import { shorten } from '../../core/lib/shorten.ts';
import {
  budgets,
  comments,
  deliveries,
  members,
  messages,
  type RecordKind,
  processes,
  queueEntries,
  races,
  sessions,
  teams,
  turns,
  rules,
  tokens,
  worktrees,
} from './record-kinds.ts';
import { labelOf, plain } from './output.ts';

/** Each finds the whole id of a record by its id, by the end of it, or by its name. Throws as `find`. */
export const sessionId = finderOf(sessions);
export const processId = finderOf(processes);
export const worktreeId = finderOf(worktrees);
export const turnId = finderOf(turns);
export const raceId = finderOf(races);
export const teamId = finderOf(teams);
export const ruleId = finderOf(rules);
export const tokenId = finderOf(tokens);
export const entryId = finderOf(queueEntries);
export const budgetId = finderOf(budgets);
export const commentId = finderOf(comments);
export const deliveryId = finderOf(deliveries);
export const messageId = finderOf(messages);

/** The session of a team's member, by its title in the team, else as `sessionId` finds it. */
export async function memberId(client: Client, reference: string, team: string): Promise<string> {
  const found = await matches(members, client, reference, team);
  return found.length > 0
    ? members.idOf(onlyOne(members, found, reference))
    : sessionId(client, reference);
}

/** The kind of a record whose placeholder is a shorter word. */
const kinds: Readonly<Record<string, string>> = {
  approval: 'approval request',
  comment: 'review comment',
  delivery: 'message delivery',
  entry: 'queue entry',
  member: 'team member',
  message: 'team message',
  rule: 'approval rule',
  token: 'API token',
};

/** The line of an argument that names a record. */
export function idArgument(what: string, name?: string): string {
  const id = `Id of the ${kinds[what] ?? what}`;
  const ending = 'the last 6 or more characters of the id';
  return name === undefined
    ? `<${what}>  ${id}, or ${ending}`
    : `<${what}>  ${id}, ${ending}, or the ${name}`;
}

export const processArgument = idArgument('process', 'command of the process');
export const sessionArgument = idArgument('session', 'title of the session');
export const memberArgument = idArgument('member', 'title of the member in the team');
export const teamArgument = idArgument('team', 'name of the team');
export const worktreeArgument = idArgument('worktree', 'name of the worktree');
export const raceArgument = idArgument('race', 'name of the race');
export const ruleArgument = idArgument('rule');
export const tokenArgument = idArgument('token', 'name of the token');
export const budgetArgument = idArgument('budget');
export const entryArgument = idArgument('entry', 'name of the queue entry');
export const commentArgument = idArgument('comment');

/** The most recent turn of a session. Throws `not_found` where there is none. */
export async function lastTurn(client: Client, session_id: string): Promise<string> {
  const { last_turn_id } = await client.call(endpoints.getSession, { params: { session_id } });
  if (last_turn_id !== null) return last_turn_id;
  throw notFoundError(`session ${session_id} has no turns: send a prompt with cadre sessions send`);
}

/**
 * The one record with this id, or this end of its id, or else this name. Throws `not_found` for none, `usage` for
 * several, and for a text that can only be the end of an id and is too short for one.
 */
export async function find<T, Within extends unknown[]>(
  kind: RecordKind<T, Within>,
  client: Client,
  reference: string,
  ...within: Within
): Promise<T> {
  return onlyOne(kind, await matches(kind, client, reference, ...within), reference);
}

function finderOf<T, Within extends unknown[]>(kind: RecordKind<T, Within>) {
  const whole = new RegExp(`^${kind.prefix}_[0-9a-f]{32}$`);
  return async (client: Client, reference: string, ...within: Within): Promise<string> =>
    whole.test(reference) ? reference : kind.idOf(await find(kind, client, reference, ...within));
}

/** The records that have this end of their id; without one, those with this name, if possible of the present. */
export async function matches<T, Within extends unknown[]>(
  kind: RecordKind<T, Within>,
  client: Client,
  reference: string,
  ...within: Within
): Promise<readonly T[]> {
  const byId: T[] = [];
  const byName: T[] = [];
  for await (const one of kind.all(client, ...within)) {
    if (isLongEnough(reference) && kind.idOf(one).endsWith(reference)) byId.push(one);
    else if (isNamed(kind.name?.of(one), reference)) byName.push(one);
  }
  if (byId.length > 0) return byId;
  const present = byName.filter((one) => kind.isPast?.(one) !== true);
  return present.length > 0 ? present : byName;
}

/** Whether a name is the reference, as it is or as lists show it. */
function isNamed(name: string | null | undefined, reference: string): boolean {
  return typeof name === 'string' && (name === reference || oneLine(name) === reference);
}

export function onlyOne<T>(
  { what, idOf, name, see }: Pick<RecordKind<T, never[]>, 'what' | 'idOf' | 'name' | 'see'>,
  found: readonly T[],
  reference: string,
): T {
  const [only, ...others] = found;
  const quoted = `"${shorten(plain(reference), 80)}"`;
  if (only === undefined) {
    if (isLongEnough(reference)) throw notFoundError(`${what} ${quoted} not found: see ${see}`);
    const remedy = 'pass the last 6 or more characters of the id';
    // Only things with names can be found by a text that is too short for the end of an id.
    if (!name) throw usageError(`${what} ${quoted} not found: ${remedy}: see ${see}`);
    throw notFoundError(`${what} ${quoted} not found: ${remedy}, or the ${name.field}: see ${see}`);
  }
  if (others.length === 0) return only;
  const list = found.map((one) => labelOf(idOf(one), name?.of(one) ?? null)).join(', ');
  throw usageError(
    found.every((one) => name?.of(one) === reference)
      ? `the ${name?.field} ${quoted} matches several ${plural(what)}: pass one of the ids ${list}`
      : `several ${what} ids end with ${quoted}: pass more characters of one of the ids ${list}`,
  );
}

function plural(what: string): string {
  if (what.endsWith('y')) return `${what.slice(0, -1)}ies`;
  return what.endsWith('s') ? `${what}es` : `${what}s`;
}

/** Whether a text is long enough to be the end of an id: shorter ones are too likely to be the end of several. */
function isLongEnough(reference: string): boolean {
  return reference.length >= 6;
}
