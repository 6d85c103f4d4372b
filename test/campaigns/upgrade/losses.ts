import { deltaKinds } from '../../../src/api/events.ts';
import type { Answers } from './stored.ts';

type Fields = Record<string, unknown>;

/** Returns where responses lack or change what earlier ones had. New fields, records and paths are allowed. */
export function lossesOf(then: Answers, now: Answers): string[] {
  return Object.entries(then).flatMap(([path, value]) =>
    path in now ? differences(path, value, now[path]) : [`${path} is not answered`],
  );
}

function differences(path: string, then: unknown, now: unknown): string[] {
  if (Array.isArray(then) && Array.isArray(now)) return ofLists(path, then, now);
  if (isFields(then) && isFields(now)) return ofRecords(path, then, now);
  const [before, after] = [JSON.stringify(then), JSON.stringify(now)];
  return before === after ? [] : [`${path}: ${before} became ${after}`];
}

function ofLists(path: string, then: unknown[], now: unknown[]): string[] {
  if (then.length === 0) return [];
  const byId = new Map(now.map((one) => [idOf(one), one]));
  if (idOf(then[0]) === undefined)
    return then.flatMap((one, at) => differences(`${path}[${at}]`, one, now[at]));
  return then.flatMap((one) => {
    // Deltas leave the log some time after their item is complete.
    if (isFields(one) && deltaKinds.has(String(one.kind))) return [];
    const id = idOf(one);
    return byId.has(id)
      ? differences(`${path} ${id}`, one, byId.get(id))
      : [`${path} ${id} is lost`];
  });
}

function ofRecords(path: string, then: Fields, now: Fields): string[] {
  if (isInProgress(then)) return [];
  const free = fieldsThatChange(path, then);
  return Object.keys(then).flatMap((name) =>
    free.includes(name) ? [] : differences(`${path}.${name}`, then[name], now[name]),
  );
}

/** Returns the id of a record of a list. */
function idOf(value: unknown): string | undefined {
  if (!isFields(value)) return undefined;
  const id = value.seq ?? value.item_id ?? value.id ?? value.turn_id ?? value.process_id;
  return id === undefined ? undefined : JSON.stringify(id);
}

/** A turn or an item that was in progress ends at the next start. */
function isInProgress({ status }: Fields): boolean {
  return ['open', 'running', 'accepted', 'waiting_for_approval'].includes(String(status));
}

function fieldsThatChange(path: string, then: Fields): string[] {
  // The directories of the machine that made the data are gone.
  if (path.startsWith('/v1/worktrees') && then.status === 'active') return ['status', 'updated_at'];
  // The state of a comment is compared with the files of its session, which are gone, too.
  if (path.includes('/review.comments')) return ['state'];
  // The turn that was cut off counts.
  if (path.startsWith('/v1/budgets')) return ['spent', 'updated_at'];
  // The sentence beside the code of a hold is made for each response.
  if ('code' in then && 'since' in then) return ['message'];
  return [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
