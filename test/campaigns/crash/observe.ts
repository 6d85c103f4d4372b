import { endpoints } from '../../../src/api/index.ts';
import type { RecoverySummary } from '../../../src/api/runtime.ts';
import type { Session, Turn } from '../../../src/api/sessions.ts';
import type { Client } from '../../../src/client/client.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';

/** State of a server, read through its interface. */
export interface Observation {
  recovery: RecoverySummary;
  /** The log after the seq that was asked for, up to `upTo`. */
  log: UntypedEvent[];
  upTo: number;
  /** The same stretch of the log in the scope of each session that was asked for. */
  sessionLogs: Map<string, UntypedEvent[]>;
  /** All sessions. */
  sessions: Map<string, Session>;
  /** All turns of the sessions that were asked for. They are read last, so they may be ahead of the log. */
  turns: Map<string, Turn>;
}

export async function observe(
  client: Client,
  asked: { after: number; logsOf: Iterable<string>; turnsOf: Iterable<string> },
): Promise<Observation> {
  const recovery = await client.call(endpoints.getRecovery, {});
  const log = await replay(client, asked.after);
  const upTo = log.at(-1)?.seq ?? asked.after;
  const sessionLogs: Observation['sessionLogs'] = new Map();
  for (const id of asked.logsOf) {
    const events = await replay(client, asked.after, id);
    sessionLogs.set(
      id,
      events.filter(({ seq }) => seq <= upTo),
    );
  }
  const sessions = new Map((await allSessions(client)).map((session) => [session.id, session]));
  const turns: Observation['turns'] = new Map();
  for (const id of asked.turnsOf) {
    for (const turn of await allTurns(client, id)) turns.set(turn.turn_id, turn);
  }
  return { recovery, log, upTo, sessionLogs, sessions, turns };
}

/** Everything stored after `after`, page by page. */
export async function replay(
  client: Client,
  after: number,
  sessionId?: string,
): Promise<UntypedEvent[]> {
  const events: UntypedEvent[] = [];
  for (let from = after; ;) {
    const query = { after_seq: from, limit: 10_000 };
    const page =
      sessionId === undefined
        ? await client.ask(endpoints.replayEvents, { query })
        : await client.ask(endpoints.replaySessionEvents, {
            params: { session_id: sessionId },
            query,
          });
    for (const event of page.value) events.push(event);
    const next: unknown = page.headers['x-next-after-seq'];
    if (next === undefined) return events;
    from = Number(next);
  }
}

function allSessions(client: Client): Promise<Session[]> {
  return allPages((query) => client.ask(endpoints.listSessions, { query }));
}

function allTurns(client: Client, sessionId: string): Promise<Turn[]> {
  const params = { session_id: sessionId };
  return allPages((query) => client.ask(endpoints.listTurns, { params, query }));
}

async function allPages<T>(
  page: (query: {
    limit: number;
    cursor?: string;
  }) => Promise<{ value: T[]; headers: Record<string, unknown> }>,
): Promise<T[]> {
  const all: T[] = [];
  for (let cursor: unknown; ;) {
    const { value, headers } = await page({
      limit: 500,
      ...(typeof cursor === 'string' ? { cursor } : {}),
    });
    all.push(...value);
    cursor = headers['x-next-cursor'];
    if (cursor === undefined) return all;
  }
}
