import {
  isNotice,
  type NoticeEvent,
  noticeKinds,
  type RuntimeEventRecord,
  type StreamGap,
} from '../api/events.ts';
import { eventRoutes } from '../api/event-routes.ts';
import type { Answer, CallInput, Client } from './client.ts';
import { type EventScope, scopeInput } from './event-scope.ts';
import { endpoints } from '../api/index.ts';

export function replay(
  client: Pick<Client, 'ask'>,
  scope: EventScope,
  page: { after_seq: number; limit: number },
): Promise<Answer<RuntimeEventRecord[]>> {
  const { name, params, query } = scopeInput(scope);
  const input = { params, query: { ...page, ...query } } as CallInput<ReplayEndpoint>;
  return client.ask(eventRoutes[name].replay, input);
}

type ReplayEndpoint = typeof eventRoutes.runtime.replay;

type Headers = Answer<unknown>['headers'];

/** The most events that the server gives in a page. */
const PAGE = 10_000;

/**
 * The last `count` events before a seq, oldest first; fewer only where there are no more. The log can be read forwards
 * only, so this reads a span before the seq, and one eight times as long while it contains too few events. A narrow
 * scope takes a few steps, and of a dense log little more than `count` events are read.
 */
export async function replayBefore(
  client: Pick<Client, 'ask'>,
  scope: EventScope,
  before: number,
  count: number,
): Promise<RuntimeEventRecord[]> {
  for (let span = count; ; span *= 8) {
    const after = Math.max(0, before - 1 - span);
    const found = await lastOf(client, scope, { after, before }, count);
    if (found.length === count || after === 0) return found;
  }
}

async function lastOf(
  client: Pick<Client, 'ask'>,
  scope: EventScope,
  { after, before }: { after: number; before: number },
  count: number,
): Promise<RuntimeEventRecord[]> {
  let last: RuntimeEventRecord[] = [];
  for (let from = after; ;) {
    const limit = Math.min(PAGE, before - 1 - from);
    if (limit < 1) return last;
    const { value, headers } = await replay(client, scope, { after_seq: from, limit });
    last = [...last, ...value.filter(({ seq }) => seq < before)].slice(-count);
    const next = Number(headers['x-next-after-seq'] ?? before);
    if (next >= before - 1) return last;
    from = next;
  }
}

/** The stored events of a scope after a seq, read page by page. `onGap` is called with each report of missing events. */
export async function* storedEvents(
  client: Pick<Client, 'ask'>,
  scope: EventScope,
  from: number,
  onGap?: (gap: StreamGap) => void,
): AsyncGenerator<RuntimeEventRecord, void> {
  const reportGap = gapReporter(onGap);
  let after = from;
  for (;;) {
    const { value, headers } = await replay(client, scope, { after_seq: after, limit: PAGE });
    reportGap(headers, after);
    yield* value;
    const next = headers['x-next-after-seq'];
    if (next === undefined) return;
    after = Number(next);
  }
}

/** Returns a function that reads the headers of each page after `requested`, and reports each trimmed seq once. */
export function gapReporter(
  onGap?: (gap: StreamGap) => void,
): (headers: Headers, requested: number) => void {
  let trimmed = 0;
  return (headers, requested) => {
    const gone = trimmedSeqIn(headers);
    if (gone > trimmed) onGap?.({ requested, trimmed_seq: gone, latest_seq: gone });
    trimmed = gone;
  };
}

/** Returns the highest seq after the cursor of a page that retention has deleted; 0: none. */
export function trimmedSeqIn(headers: Headers): number {
  return Number(headers['x-trimmed-seq'] ?? 0);
}

/**
 * The last seq before the first event that is not older than `time`, in Unix milliseconds. Found by binary search with
 * one event a step.
 */
export async function seqBefore(client: Pick<Client, 'ask'>, time: number): Promise<number> {
  const first = async (after_seq: number) =>
    client.ask(endpoints.replayEvents, { query: { after_seq, limit: 1 } });
  let low = 0;
  let high = Number((await first(0)).headers['x-seq'] ?? 0);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = (await first(middle)).value;
    if (event && event.created_at < time) low = event.seq;
    else high = middle;
  }
  return low;
}

/** The notices of a session that the log still has, oldest first. Throws AppError. */
export async function readNotices(client: Client, sessionId: string): Promise<NoticeEvent[]> {
  const found: NoticeEvent[] = [];
  for await (const event of storedEvents(client, { sessionId, kinds: noticeKinds }, 0))
    if (isNotice(event)) found.push(event);
  return found;
}
