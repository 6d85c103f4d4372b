import { kindsMatching } from '../../../api/events.ts';
import { eventRoutes as routes } from '../../../api/event-routes.ts';
import { invalidError } from '../../../api/errors.ts';
import type { Scope } from '../../../core/events/event.ts';
import type { Feed } from '../../../core/events/feed.ts';
import type { EventLog } from '../../../core/events/log.ts';
import { BytePage } from '../../../core/lib/byte-page.ts';
import { yieldToEventLoop } from '../../../core/lib/slices.ts';
import type { ProcessService } from '../../work/processes/service.ts';
import type { SessionService } from '../../conversations/sessions/service.ts';
import type { TeamService } from '../../teams/service.ts';
import { type Call, type Mount, RawJson } from '../mount.ts';
import { eventFrames } from '../sse.ts';

/** The maximum size of a replay, in bytes; it may end before its `limit` is reached. */
const REPLAY_BYTES = 8 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** Replay and stream, of the whole runtime and of each scope. */
export function eventRoutes(
  mount: Mount,
  deps: {
    log: EventLog;
    feed: Feed;
    sessions: SessionService;
    processes: ProcessService;
    teams: TeamService;
  },
): void {
  const { log, feed, sessions, processes, teams } = deps;
  /** The ids of the records of a scope. Each throws `not_found`. */
  const ids = {
    session: async ({ params }: ScopedCall) => (await sessions.get(params.session_id ?? '')).id,
    process: async ({ params, query }: ScopedCall) =>
      (await processes.get(params.process_id ?? '', query.session_id)).process_id,
    team: async ({ params }: ScopedCall) => (await teams.get(params.team_id ?? '')).team.id,
  };

  mount(routes.runtime.replay, (call) => replay({ name: 'runtime' }, call));
  mount(routes.runtime.stream, async (call) => stream({ name: 'runtime' }, call));
  for (const name of ['session', 'process', 'team'] as const) {
    const scopeOf = async (call: ScopedCall): Promise<Scope> => ({
      name,
      id: await ids[name](call),
    });
    mount(routes[name].replay, async (call) => replay(await scopeOf(call), call));
    mount(routes[name].stream, async (call) => stream(await scopeOf(call), call));
  }

  async function replay(of: Scope, { query, setHeader }: ReplayCall): Promise<RawJson> {
    const { scope, upTo } = { scope: narrowed(of, query.kind), upTo: feed.latestSeq };
    const body = new JsonArray();
    let after = query.after_seq;
    let left = query.limit;
    for (let isFull = false; !isFull && after < upTo;) {
      const bounds = { after, upTo, limit: left, maxBytes: REPLAY_BYTES - body.length };
      const page = log.page(scope, bounds, (_seq, _kind, text) => body.append(text));
      left -= page.count;
      after = page.end;
      isFull = page.isFull || body.length >= REPLAY_BYTES;
      // A million events may hold few of the requested kinds, so this yields to the event loop.
      if (!isFull) await yieldToEventLoop();
    }
    const trimmed = log.trimmedSeq(scope);
    if (trimmed > query.after_seq) setHeader('X-Trimmed-Seq', String(trimmed));
    if (after < upTo) setHeader('X-Next-After-Seq', String(after));
    return new RawJson(body.end());
  }

  function stream(of: Scope, { query, header, stream: answer }: StreamCall): undefined {
    const after = startingPoint(query.after_seq, header('last-event-id'));
    const from = after === 'latest' ? feed.latestSeq : after;
    const headers = { 'X-Seq': String(feed.latestSeq) };
    return answer(eventFrames(feed, narrowed(of, query.kind), from), headers);
  }
}

type ReplayCall = Pick<Call<typeof routes.runtime.replay>, 'query' | 'setHeader'>;
type StreamCall = Pick<Call<typeof routes.runtime.stream>, 'query' | 'header' | 'stream'>;
interface ScopedCall {
  params: Partial<Record<'session_id' | 'process_id' | 'team_id', string>>;
  query: { session_id?: string | undefined; after_seq?: unknown };
}

function narrowed(scope: Scope, kinds: readonly string[] | undefined): Scope {
  return kinds ? { ...scope, kinds: kindsMatching(kinds) } : scope;
}

/**
 * Returns the position at which a stream starts (interface 9.3). The query has precedence over the header, and an
 * invalid header is refused. `latest` applies to the first connection only: a client that reconnects repeats its query,
 * but its Last-Event-ID marks the events that it has missed.
 */
export function startingPoint<T extends number | 'latest'>(
  query: T | undefined,
  header: string | undefined,
): T | number {
  if (query !== undefined && (query !== 'latest' || header === undefined)) return query;
  if (header === undefined) return 0;
  const seq = /^\d{1,16}$/.test(header) ? Number(header) : Number.NaN;
  if (Number.isSafeInteger(seq)) return seq;
  throw invalidError(
    `Last-Event-ID "${header}" is not a sequence number: expected a number from 0 to ${Number.MAX_SAFE_INTEGER}`,
  );
}

/** A JSON array of values that are serialised already. */
class JsonArray {
  readonly #full: Buffer[] = [];
  readonly #page = new BytePage();
  /** Its size so far, in bytes. */
  length = 0;

  append(text: Buffer): void {
    this.#page.ascii(this.length === 0 ? '[' : ',\n');
    this.#page.bytes(text);
    this.length += text.length + 2;
    if (this.#page.length >= CHUNK_BYTES) this.#full.push(this.#page.flush());
  }

  end(): Buffer {
    this.#page.ascii(this.length === 0 ? '[]' : ']');
    return Buffer.concat([...this.#full, this.#page.flush()]);
  }
}
