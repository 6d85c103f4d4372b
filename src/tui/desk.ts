import type { Approval } from '../api/approvals.ts';
import { endpoints } from '../api/index.ts';
import type { Diagnostics } from '../api/runtime.ts';
import type { Session } from '../api/sessions.ts';
import type { Client } from '../client/client.ts';
import { listAll } from '../client/listing.ts';
import { replayBefore } from '../client/replay.ts';
import type { Clock } from '../lib/clock.ts';
import { type Connection, follow } from './follow.ts';
import { emptyOverview, type Overview, type SessionNow } from './overview.ts';
import { overviewKinds, withEvent } from './overview-events.ts';
import { idle } from './session-now.ts';
import { Source } from './source.ts';

/** This many of its latest events are read to show what a running session does. */
const LAST_EVENTS = 20;
/** The server's diagnostics are polled at this interval, because no event reports them. */
const SERVER_MS = 10_000;
/** This many of what has ended is listed: the newest of each kind. */
const ENDED = 100;

interface DeskDependencies {
  client: Client;
  clock: Clock;
  watches: 'everything' | 'approvals';
}

/** Keeps the overview from one listing and the events after it. */
export class Desk {
  readonly overview = new Source<Overview>(emptyOverview);
  readonly connection = new Source<Connection>({ state: 'reading' });
  /** As of the last poll; null before the first. */
  readonly server = new Source<Diagnostics | null>(null);
  readonly #given: DeskDependencies;
  readonly #stopped = new AbortController();
  #looks: Disposable | undefined;

  /** The page of events watches approvals only. */
  constructor(given: DeskDependencies) {
    this.#given = given;
  }

  start(): void {
    const all = this.#given.watches === 'everything';
    void follow({
      client: this.#given.client,
      clock: this.#given.clock,
      scope: { kinds: all ? overviewKinds : ['approval.*'] },
      signal: this.#stopped.signal,
      begin: () => (all ? this.#listAll() : this.#listApprovals()),
      take: (events) => this.overview.change((overview) => events.reduce(withEvent, overview)),
      onConnection: (connection) => this.connection.set(connection),
      // What retention took is missing in the events, and is in the lists.
      onGap: () => void (all ? this.#listAll() : this.#listApprovals()).catch(() => undefined),
    });
    if (all) this.#looks = this.#given.clock.every(SERVER_MS, () => void this.#lookAtServer());
  }

  stop(): void {
    this.#stopped.abort();
    this.#looks?.[Symbol.dispose]();
  }

  async #listApprovals(): Promise<number> {
    const { value, headers } = await this.#given.client.ask(endpoints.listApprovals, {
      query: { limit: 500 },
    });
    this.overview.set({ ...emptyOverview, approvals: oldestFirst(value) });
    return Number(headers['x-seq'] ?? 0);
  }

  async #listAll(): Promise<number> {
    const { client } = this.#given;
    const { seq, server, sessions, approvals, processes } = await listAll(client);
    const query = { limit: ENDED };
    const closed = await client.call(endpoints.listSessions, {
      query: { ...query, status: 'closed' },
    });
    const ended = await client.call(endpoints.listProcesses, { query });
    const teams = await client.call(endpoints.listTeams, { query: { limit: 500 } });
    const worktrees = await client.call(endpoints.listWorktrees, { query: { limit: 500 } });
    this.server.set(server);
    this.overview.set({
      ...emptyOverview,
      sessions: keyed([...closed, ...sessions].map(idle), ({ session }) => session.id),
      approvals: oldestFirst(approvals),
      processes: keyed([...ended, ...processes], ({ process_id }) => process_id),
      teams: keyed(
        teams.filter(({ deleted_at }) => deleted_at === null),
        ({ id }) => id,
      ),
      worktrees: keyed(worktrees, ({ id }) => id),
    });
    for (const session of sessions) {
      if (session.active_turn_id === null) continue;
      const now = await this.#whatItIsAt(session, session.active_turn_id, seq);
      this.overview.change((overview) => ({
        ...overview,
        sessions: new Map(overview.sessions).set(session.id, now),
      }));
    }
    return seq;
  }

  async #whatItIsAt(session: Session, turn_id: string, seq: number): Promise<SessionNow> {
    const params = { session_id: session.id, turn_id };
    const { accepted_at } = await this.#given.client.call(endpoints.getTurn, { params });
    const kinds = ['message.completed', 'tool.started', 'tool.completed'];
    const scope = { sessionId: session.id, kinds };
    const last = await replayBefore(this.#given.client, scope, seq + 1, LAST_EVENTS);
    const now = { ...emptyOverview, sessions: new Map([[session.id, idle(session)]]) };
    const known = last.reduce(withEvent, now).sessions.get(session.id);
    return { ...(known ?? idle(session)), since: accepted_at };
  }

  async #lookAtServer(): Promise<void> {
    try {
      this.server.set(await this.#given.client.call(endpoints.getDiagnostics, {}));
    } catch {
      // The stream reports that the server is away.
    }
  }
}

function keyed<T>(list: readonly T[], keyOf: (one: T) => string): Map<string, T> {
  return new Map(list.map((one) => [keyOf(one), one]));
}

function oldestFirst(approvals: readonly Approval[]): Map<string, Approval> {
  return keyed(approvals.toReversed(), ({ id }) => id);
}
