import { endpoints } from '../api/index.ts';
import { AppError, notFoundError, unreachableError } from '../api/errors.ts';
import type { Client } from './client.ts';
import type { ServerSnapshot, ServerEntry } from './servers.ts';

/**
 * The server that has the record with an id, by asking all of them. Throws `not_found`; where servers cannot be asked
 * that might have it, `unreachable` with what is wrong with them. `known`: what was last known of such a server.
 */
export async function ownerOf(
  entries: readonly ServerEntry[],
  id: string,
  known: (name: string) => Promise<ServerSnapshot | null>,
): Promise<ServerEntry> {
  const found = await Promise.all(entries.map((entry) => has(entry, id)));
  const owner = entries[found.indexOf(true)];
  if (owner) return owner;
  const away = entries.flatMap(({ name }, i) => {
    const why = found[i];
    return typeof why === 'string' ? [{ name, why }] : [];
  });
  if (away.length === 0) throw notFoundError(`no server has a record with the id "${id}"`);
  const lists = await Promise.all(away.map(({ name }) => known(name)));
  const last = away[lists.findIndex((one) => one !== null && idsIn(one).includes(id))];
  const asked = last ? [last] : away;
  const others =
    last || away.length === entries.length ? '' : `; "${id}" not found on any other server`;
  throw unreachableError(`${asked.map(({ why }) => why).join('; ')}${others}`);
}

/** Whether a server has the record with an id; a text with the reason where the server does not say. */
async function has({ name, client, detail }: ServerEntry, id: string): Promise<boolean | string> {
  if (!client) return detail ?? `server ${name} is unreachable`;
  try {
    await lookUp(client, id);
    return true;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'not_found') return false;
    return error.code === 'unreachable' ? error.message : `${name}: ${error.message}`;
  }
}

function lookUp(client: Client, id: string): Promise<unknown> {
  switch (id.split('_')[0]) {
    case 'proc':
      return client.call(endpoints.getProcess, { params: { process_id: id } });
    case 'bud':
      return client.call(endpoints.getBudget, { params: { budget_id: id } });
    case 'que':
      return client.call(endpoints.getQueueEntry, { params: { entry_id: id } });
    case 'team':
      return client.call(endpoints.getTeam, { params: { team_id: id } });
    case 'race':
      return client.call(endpoints.getRace, { params: { race_id: id } });
    case 'wt':
      return client.call(endpoints.getWorktree, { params: { worktree_id: id } });
    default:
      return client.call(endpoints.getSession, { params: { session_id: id } });
  }
}

function idsIn({ sessions, approvals, processes }: ServerSnapshot): string[] {
  return [
    ...[...sessions, ...approvals].map(({ id }) => id),
    ...processes.map(({ process_id }) => process_id),
  ];
}
