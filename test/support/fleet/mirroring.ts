import { Feed } from '../../../src/core/events/feed.ts';
import type { LogEntry } from '../../../src/core/events/log.ts';
import { Mirror, type MirrorParts, type MirrorRows } from '../../../src/fleet/mirror.ts';
import type { MirrorStream } from '../../../src/fleet/nats-mirror-stream.ts';
import { mirroredLog, mirrorRows } from '../../../src/server/runtime/mirrored-log.ts';
import { noFailpoints } from '../../../src/core/lib/failpoint.ts';
import type { Clock } from '../../../src/core/lib/clock.ts';
import type { TestStore } from '../memory-store.ts';
import { untypedDraft } from '../untyped-events.ts';

/** A clock whose pauses take one turn of the event loop. */
export function hurriedClock(): Clock {
  let elapsed = 0;
  return {
    now: () => elapsed,
    monotonic: () => elapsed,
    async sleep(ms, signal) {
      elapsed += ms;
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
    },
    after: () => ({ [Symbol.dispose]: () => undefined }),
    every: () => ({ [Symbol.dispose]: () => undefined }),
  };
}

/** A mirror of a store that runs until it is disposed. */
export function startMirror(
  store: Pick<TestStore, 'db' | 'log'>,
  stream: MirrorStream,
  more: Partial<MirrorParts> & { rows?: MirrorRows } = {},
) {
  const { db, log } = store;
  const feed = new Feed({ db, log });
  const stopping = new AbortController();
  const mirror = new Mirror({
    log: mirroredLog({ db, log, feed }),
    stream,
    rows: mirrorRows(db),
    clock: hurriedClock(),
    failpoint: noFailpoints,
    ...more,
  });
  const done = mirror.run(stopping.signal);
  return {
    mirror,
    feed,
    done,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await done;
    },
  };
}

/** Appends events of one kind to a log in one transaction. */
export function append(
  { db, log }: Pick<TestStore, 'db' | 'log'>,
  count: number,
  kind: 'session.updated' | 'message.delta' = 'session.updated',
  payload: Record<string, unknown> = kind === 'message.delta'
    ? { item_id: 'item_1', text: 'x' }
    : { text: 'x' },
): Promise<number[]> {
  return db.transact((tx) =>
    Array.from(
      { length: count },
      () => log.append(tx, untypedDraft({ kind, session_id: 'sess_a', payload })).seq,
    ),
  );
}

/** Returns all events of a log, by seq. */
export function wholeLog(store: Pick<TestStore, 'log'>, upTo: number): Map<number, string> {
  return new Map(entriesBetween(store, 0, upTo).map(({ seq, text }) => [seq, text]));
}

/** Returns the entries of a log after one seq and up to another. */
export function entriesBetween({ log }: Pick<TestStore, 'log'>, after: number, upTo: number) {
  const bounds = { after, upTo, limit: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER };
  const entries: LogEntry[] = [];
  log.page({ name: 'runtime' }, bounds, (seq, kind, text) =>
    entries.push({ seq, kind, text: text.toString() }),
  );
  return entries;
}
