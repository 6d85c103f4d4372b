import type { ServerResponse } from 'node:http';
import { endpoints } from '../../api/index.ts';
import { AppError } from '../../errors.ts';
import type { Scope } from '../../events/event.ts';
import type { Feed } from '../../events/feed.ts';
import type { EventLog, LogEntry } from '../../events/log.ts';
import type { SessionService } from '../../sessions/service.ts';
import { type Mount, RawJson } from '../mount.ts';
import type { EventStreams } from '../sse.ts';

/** A replay ends at this many bytes even if its limit is not reached. */
const REPLAY_BYTES = 8 * 1024 * 1024;

/** Replay and stream, of the whole runtime and of a session. */
export function eventRoutes(
  mount: Mount,
  given: {
    log: EventLog;
    feed: Feed;
    streams: EventStreams;
    sessions: SessionService;
    epoch: string;
  },
): void {
  const { log, feed, streams, sessions, epoch } = given;

  mount(endpoints.replayEvents, ({ query, setHeader }) =>
    Promise.resolve(replay({ name: 'runtime' }, query, setHeader)),
  );
  mount(endpoints.streamEvents, async ({ query, header, takeOver }) => {
    const after = startingPoint(query.after_seq, header('last-event-id'));
    return stream(takeOver, { name: 'runtime' }, after);
  });
  mount(endpoints.replaySessionEvents, async ({ params, query, setHeader }) => {
    const { id } = await sessions.get(params.session_id);
    return replay({ name: 'session', id }, query, setHeader);
  });
  mount(endpoints.streamSessionEvents, async ({ params, query, header, takeOver }) => {
    const after = startingPoint(query.after_seq, header('last-event-id'));
    const { id } = await sessions.get(params.session_id);
    return stream(takeOver, { name: 'session', id }, after);
  });

  function replay(
    scope: Scope,
    query: { after_seq: number; limit: number },
    setHeader: (name: string, value: string) => void,
  ): RawJson {
    const bounds = {
      after: query.after_seq,
      upTo: feed.latestSeq,
      limit: query.limit,
      maxBytes: REPLAY_BYTES,
    };
    const page = log.page(scope, bounds);
    const last = page.at(-1);
    if (last && last.seq < bounds.upTo) setHeader('X-Next-After-Seq', String(last.seq));
    return new RawJson(`[${page.map(({ text }: LogEntry) => text).join(',\n')}]`);
  }

  function stream(
    takeOver: () => ServerResponse,
    scope: Scope,
    after: number | 'latest',
  ): undefined {
    const from = after === 'latest' ? feed.latestSeq : after;
    streams.serve(takeOver(), { 'X-Epoch': epoch, 'X-Seq': String(feed.latestSeq) }, scope, from);
  }
}

/** The interface, Events 3: the query wins over the header; an invalid header is refused. */
function startingPoint(
  query: number | 'latest' | undefined,
  header: string | undefined,
): number | 'latest' {
  if (query !== undefined) return query;
  if (header === undefined) return 0;
  const seq = /^\d{1,16}$/.test(header) ? Number(header) : Number.NaN;
  if (Number.isSafeInteger(seq)) return seq;
  throw new AppError(
    'invalid',
    `Last-Event-ID "${header}" is not a sequence number: 0 to ${Number.MAX_SAFE_INTEGER}`,
  );
}
