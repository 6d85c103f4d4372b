import type { Approval } from '../api/approvals.ts';
import { endpoints } from '../api/index.ts';
import type { Process } from '../api/processes.ts';
import type { Session } from '../api/sessions.ts';
import type { Client } from '../client/client.ts';
import { listAll } from '../client/listing.ts';
import { replayBefore } from '../client/replay.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { type Connection, follow } from './follow.ts';
import {
  emptyOverview,
  type Overview,
  overviewKinds,
  type SessionNow,
  withEvent,
} from './overview.ts';
import { Source } from './source.ts';

/** This many of its latest events are read to show what a running session does. */
const LAST_EVENTS = 20;
/** The server's diagnostics are polled at this interval, because no event reports them. */
const SERVER_MS = 10_000;

interface DeskDependencies {
  client: Client;
  clock: Clock;
  watches: 'everything' | 'approvals';
}

/** Keeps the overview from one listing and the events after it, and carries out the user's decisions. */
export class Desk {
  readonly overview = new Source<Overview>(emptyOverview);
  readonly connection = new Source<Connection>({ state: 'reading' });
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
    });
    if (all) this.#looks = this.#given.clock.every(SERVER_MS, () => void this.#lookAtServer());
  }

  stop(): void {
    this.#stopped.abort();
    this.#looks?.[Symbol.dispose]();
  }

  /** Answers an approval. An event tells how it was resolved, also where another client answered first. */
  async decide(
    { id: approval_id, session_id }: Approval,
    body: { decision: 'accept' | 'decline'; reason: string | null },
  ): Promise<void> {
    try {
      await this.#given.client.call(endpoints.decideApproval, {
        params: { session_id, approval_id },
        body,
      });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'approval_resolved') throw error;
    }
  }

  /** Interrupts the active turn of a session. */
  async interrupt({ id: session_id, active_turn_id: turn_id }: Session): Promise<void> {
    if (turn_id === null) return;
    await this.#given.client.call(endpoints.interruptTurn, {
      params: { session_id, turn_id },
      body: {},
    });
  }

  async kill({ process_id }: Process): Promise<void> {
    await this.#given.client.call(endpoints.killProcess, { params: { process_id }, body: {} });
  }

  async #listApprovals(): Promise<number> {
    const { value, headers } = await this.#given.client.ask(endpoints.listApprovals, {
      query: { limit: 500 },
    });
    this.overview.set({ ...emptyOverview, approvals: oldestFirst(value) });
    return Number(headers['x-seq'] ?? 0);
  }

  async #listAll(): Promise<number> {
    const { seq, server, sessions, approvals, processes } = await listAll(this.#given.client);
    const listed: Overview = {
      ...emptyOverview,
      server,
      sessions: new Map(sessions.map((one) => [one.id, idle(one)])),
      approvals: oldestFirst(approvals),
      processes: new Map(processes.toReversed().map((one) => [one.process_id, one])),
    };
    this.overview.set(listed);
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
    const kinds = ['message.*', 'tool.*'];
    const scope = { sessionId: session.id, kinds };
    const last = await replayBefore(this.#given.client, scope, seq + 1, LAST_EVENTS);
    const now = { ...emptyOverview, sessions: new Map([[session.id, idle(session)]]) };
    const known = last.reduce(withEvent, now).sessions.get(session.id);
    return { ...(known ?? idle(session)), since: accepted_at };
  }

  async #lookAtServer(): Promise<void> {
    try {
      const server = await this.#given.client.call(endpoints.getDiagnostics, {});
      this.overview.change((overview) => ({ ...overview, server }));
    } catch {
      // The stream reports that the server is away.
    }
  }
}

function idle(session: Session): SessionNow {
  return { session, since: null, doing: null };
}

function oldestFirst(approvals: readonly Approval[]): Map<string, Approval> {
  return new Map(approvals.toReversed().map((one) => [one.id, one]));
}
