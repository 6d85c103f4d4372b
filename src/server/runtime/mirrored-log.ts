import type { Feed } from '../../core/events/feed.ts';
import { entriesOf } from '../../core/events/frames.ts';
import type { EventLog } from '../../core/events/log.ts';
import type { MirroredLog, MirrorRow, MirrorRows } from '../../fleet/mirror.ts';
import type { Database } from '../../core/store/database.ts';
import { forksOf } from '../../core/store/forks.ts';

/** The log of this server as its mirror reads it. */
export function mirroredLog(parts: { db: Database; log: EventLog; feed: Feed }): MirroredLog {
  const { db, log, feed } = parts;
  const staying = db.prepare<[number | null]>('SELECT max(seq) FROM events WHERE seq <= ?');
  return {
    epoch: db.epoch,
    forks: forksOf(db),
    get latestSeq() {
      return feed.latestSeq;
    },
    idAt(seq) {
      const bounds = { after: seq - 1, upTo: seq, limit: 1, maxBytes: Number.MAX_SAFE_INTEGER };
      let id: string | null = null;
      log.page(EVERYTHING, bounds, (_seq, _kind, text) => {
        ({ id } = JSON.parse(text.toString()) as { id: string });
      });
      return id;
    },
    stayingUpTo: (seq) => db.peek((rx) => staying.get(rx, seq)?.[0] ?? 0),
    async *follow(after, ending, gather) {
      const pages = feed.subscribe(EVERYTHING, after, NEVER, ending, gather);
      for await (const { frames, trimmed } of pages) yield { entries: entriesOf(frames), trimmed };
    },
  };
}

const EVERYTHING = { name: 'runtime' } as const;
const NEVER = new AbortController().signal;

/** The stored position of the mirror: a row of the table `meta`. */
export function mirrorRows(db: Database): MirrorRows {
  const get = db.prepare<[string]>("SELECT value FROM meta WHERE key = 'mirror'");
  const put = db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('mirror', ?)");
  return {
    read() {
      const [text] = db.peek((rx) => get.get(rx)) ?? [];
      return text === undefined ? null : (JSON.parse(text) as MirrorRow);
    },
    async write(row) {
      await db.transact((tx) => put.run(tx, JSON.stringify(row)));
    },
  };
}
