import type { Approval } from '../api/approvals.ts';
import type { Process } from '../api/processes.ts';
import type { Diagnostics } from '../api/runtime.ts';
import type { Session } from '../api/sessions.ts';
import { isUnreachable, unreachableError } from '../api/errors.ts';
import { listAll } from './listing.ts';
import type { ServerEntry, Servers } from './servers.ts';

/** The state of one of several servers; of one that does not answer, what was last known. */
export interface ServerState {
  entry: ServerEntry;
  /** Null where it does not answer. */
  server: Diagnostics | null;
  /** When this was so, in Unix milliseconds; null where the server answered just now. */
  at: number | null;
  sessions: readonly Session[];
  approvals: readonly Approval[];
  processes: readonly Process[];
}

export async function listEach(servers: Servers): Promise<ServerState[]> {
  return Promise.all((await servers.list()).map((entry) => serverStateOf(servers, entry)));
}

export async function serverStateOf(servers: Servers, entry: ServerEntry): Promise<ServerState> {
  try {
    if (!entry.client) throw unreachableError(entry.detail ?? entry.name);
    const { server, sessions, approvals, processes } = await listAll(entry.client);
    await servers.remember?.(entry.name, { sessions, approvals, processes });
    return { entry, server, at: null, sessions, approvals, processes };
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    const known = await servers.known(entry.name);
    const { sessions = [], approvals = [], processes = [] } = known ?? {};
    const away = { ...entry, state: 'unreachable', detail: error.message, client: null } as const;
    return { entry: away, server: null, at: known?.at ?? null, sessions, approvals, processes };
  }
}
