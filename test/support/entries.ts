import type { Scope } from '../../src/core/events/event.ts';
import type { FeedPage } from '../../src/core/events/feed.ts';
import type { EventLog, LogEntry, LogPage, PageBounds } from '../../src/core/events/log.ts';

/** Reads a page of a log with its entries. */
export function pageOf(
  log: EventLog,
  scope: Scope,
  bounds: PageBounds,
): Pick<LogPage, 'end' | 'isFull'> & { entries: LogEntry[] } {
  const entries: LogEntry[] = [];
  const { count, end, isFull } = log.page(scope, bounds, (seq, kind, text) =>
    entries.push({ seq, kind, text: text.toString() }),
  );
  if (count !== entries.length) throw new Error(`${count} entries, but ${entries.length} passed`);
  return { entries, end, isFull };
}

/** Returns the entries of a subscriber's page, which consists only of frames. */
export function entriesIn({ frames }: FeedPage): LogEntry[] {
  const text = frames.toString();
  const found = [...text.matchAll(/id: (\d+)\nevent: (\S+)\ndata: ([^\n]*)\n\n/g)];
  if (found.map(([frame]) => frame).join('') !== text) throw new Error(`not frames alone: ${text}`);
  return found.map(([, seq, kind = '', data = '']) => ({ seq: Number(seq), kind, text: data }));
}
