import type { Feed } from '../events/feed.ts';
import type { EventLog } from '../events/log.ts';
import type { MirroredLog, MirrorRow, MirrorRows } from '../fleet/mirror.ts';
import type { Database } from '../store/database.ts';
import { forksOf } from '../store/forks.ts';

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
      const [entry] = log.page({ name: 'runtime' }, bounds).entries;
      return entry ? (JSON.parse(entry.text) as { id: string }).id : null;
    },
    stayingUpTo: (seq) => db.peek((rx) => staying.get(rx, seq)?.[0] ?? 0),
    follow: (after, ending) => feed.follow({ name: 'runtime' }, after, NEVER, ending),
  };
}

const NEVER = new AbortController().signal;

/** Where the mirror keeps how far it has come: a row of the table `meta`. */
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
