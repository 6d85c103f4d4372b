import type { Approval } from '../../api/approvals.ts';
import { isAppError } from '../../api/errors.ts';
import { endpoints } from '../../api/index.ts';
import type { QueueEntry } from '../../api/queue.ts';
import type { Race } from '../../api/races.ts';
import type { Diagnostics } from '../../api/runtime.ts';
import type { Session } from '../../api/sessions.ts';
import type { Client } from '../../client/client.ts';
import { listAll } from '../../client/listing.ts';
import { recordsOf } from '../../client/records-of.ts';
import { replayBefore } from '../../client/replay.ts';
import type { ServerSnapshot } from '../../client/servers.ts';
import { idle, withEvent } from './overview-events.ts';
import { type Overview, type RaceEntry, type SessionNow, emptyOverview } from './overview.ts';

/** This many of its latest events are read to show what a running session does. */
const LAST_EVENTS = 20;
/** This many of what has ended is listed: the newest of each kind. */
const ENDED = 100;

/** Lists everything of a server. `readWork` reads the work of running sessions. */
export async function readOverview(
  client: Client,
): Promise<{ seq: number; server: Diagnostics; overview: Overview }> {
  const { seq, server, sessions, approvals, processes } = await listAll(client);
  const query = { limit: ENDED };
  const closed = await client.call(endpoints.listSessions, {
    query: { ...query, status: 'closed' },
  });
  const ended = await client.call(endpoints.listProcesses, { query });
  const teams = await client.call(endpoints.listTeams, { query: { limit: 500 } });
  const worktrees = await client.call(endpoints.listWorktrees, { query: { limit: 500 } });
  const queued = await readQueues(client);
  const races = await readRaces(client);
  const overview = {
    ...overviewOf({
      sessions: [...closed, ...sessions],
      approvals,
      processes: [...ended, ...processes],
    }),
    teams: keyed(
      teams.filter(({ deleted_at }) => deleted_at === null),
      ({ id }) => id,
    ),
    worktrees: keyed(worktrees, ({ id }) => id),
    contenders: new Map(races.flatMap(entriesOf)),
    queued: new Map(queued.map(({ id, session_id }) => [id, session_id])),
  };
  return { seq, server, overview };
}

/** The entries of all queues. */
function readQueues(client: Client): Promise<QueueEntry[]> {
  const entries = recordsOf((query) => client.ask(endpoints.listQueue, { query }));
  return unlessOlder(Array.fromAsync(entries));
}

function readRaces(client: Client): Promise<Race[]> {
  return unlessOlder(client.call(endpoints.listRaces, { query: { limit: 500 } }));
}

/** A list; no records if the server is older than the list. */
async function unlessOlder<T>(listing: Promise<T[]>): Promise<T[]> {
  try {
    return await listing;
  } catch (error) {
    if (!isAppError(error, 'not_found')) throw error;
    return [];
  }
}

function entriesOf({ id, name, kept, contenders }: Race): [string, RaceEntry][] {
  return contenders.flatMap(({ session_id, contender }) =>
    session_id === null
      ? []
      : [[session_id, { race_id: id, race_name: name, contender, kept }] as const],
  );
}

/** The overview of what was listed, the newest of each first. */
export function overviewOf(listed: Omit<ServerSnapshot, 'at'>): Overview {
  return {
    ...emptyOverview,
    sessions: keyed(listed.sessions.map(idle), ({ session }) => session.id),
    approvals: oldestFirst(listed.approvals),
    processes: keyed(listed.processes, ({ process_id }) => process_id),
  };
}

/** Yields the present work of each running session, from its latest events up to a seq. */
export async function* readWork(
  client: Client,
  { sessions }: Overview,
  seq: number,
): AsyncGenerator<SessionNow, void> {
  for (const { session } of sessions.values())
    if (session.active_turn_id !== null)
      yield await whatItIsAt(client, session, session.active_turn_id, seq);
}

async function whatItIsAt(
  client: Client,
  session: Session,
  turn_id: string,
  seq: number,
): Promise<SessionNow> {
  const params = { session_id: session.id, turn_id };
  const { accepted_at } = await client.call(endpoints.getTurn, { params });
  const kinds = ['message.completed', 'tool.started', 'tool.completed'];
  const scope = { sessionId: session.id, kinds };
  const last = await replayBefore(client, scope, seq + 1, LAST_EVENTS);
  const now = { ...emptyOverview, sessions: new Map([[session.id, idle(session)]]) };
  const known = last.reduce(withEvent, now).sessions.get(session.id);
  return { ...(known ?? idle(session)), since: accepted_at };
}

export function oldestFirst(approvals: readonly Approval[]): Map<string, Approval> {
  return keyed(approvals.toReversed(), ({ id }) => id);
}

function keyed<T>(list: readonly T[], keyOf: (one: T) => string): Map<string, T> {
  return new Map(list.map((one) => [keyOf(one), one]));
}
