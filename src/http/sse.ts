import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Scope } from '../events/event.ts';
import type { Feed } from '../events/feed.ts';
import type { LogEntry } from '../events/log.ts';
import type { Clock } from '../lib/clock.ts';
import type { TokenHolder } from '../access/tokens.ts';
import { StreamLimits, type StreamSettings } from './stream-limits.ts';

/** The interface, Limits. */
const PING_MS = 10_000;
/** A reader that took nothing for so long, though there was something, is cut; it comes back with its last id. */
const STALLED_MS = 10 * 60_000;
/** How long a stream that is being ended may take for what it has not read yet. */
const LAST_WORDS_MS = 2000;

/** Frames that are ready together, in order; `gone` aborts when nobody reads any more, `ending` when the server stops. */
export type Frames = (gone: AbortSignal, ending: AbortSignal) => AsyncIterable<Buffer | string>;

/** A request that is answered with frames. */
interface StreamRequest {
  response: ServerResponse;
  /** Aborts when the client has left; it may have left already. */
  left: AbortSignal;
  holder: TokenHolder;
  headers: Record<string, string>;
}

interface EventStreamsDependencies {
  feed: Feed;
  clock: Clock;
  limits: () => StreamSettings;
}

/** The open streams of the server. */
export class EventStreams {
  readonly #given: EventStreamsDependencies;
  readonly #limits: StreamLimits;
  readonly #ending = new AbortController();
  readonly #open = new Set<Promise<void>>();
  readonly #sockets = new Set<ServerResponse>();

  constructor(given: EventStreamsDependencies) {
    this.#given = given;
    this.#limits = new StreamLimits(given.limits);
  }

  /** Throws `too_many` where the holder of a token may open no stream more. */
  assertRoom(holder: TokenHolder): void {
    this.#limits.assertRoom(holder);
  }

  /**
   * Answers with frames, as they come, until there are no more, the client leaves, or its token is good no more.
   * A client that has left already leaves nothing behind.
   */
  serve(request: StreamRequest, frames: Frames): void {
    const { response, left, holder } = request;
    if (left.aborted) return;
    const served = this.#serve(request, frames).catch(() => {
      // Nothing can be said in the middle of a stream; the client comes back with its last id.
      response.destroy();
    });
    this.#open.add(served);
    this.#sockets.add(response);
    this.#limits.opened(holder);
    void served.finally(() => {
      this.#open.delete(served);
      this.#sockets.delete(response);
      this.#limits.closed(holder);
    });
  }

  /** Answers HEAD: with the headers of the stream, which is not opened. */
  serveHead({ response, headers }: Pick<StreamRequest, 'response' | 'headers'>): void {
    response.writeHead(200, headersOf(headers));
    response.end();
  }

  /** Gives each stream what there is up to now and ends it; one that does not read is cut after a while. */
  async end(): Promise<void> {
    this.#ending.abort();
    using _cut = this.#given.clock.after(LAST_WORDS_MS, () => {
      for (const response of this.#sockets) response.destroy();
    });
    await Promise.all(this.#open);
  }

  async #serve({ response, left, holder, headers }: StreamRequest, frames: Frames): Promise<void> {
    const gone = new AbortController();
    const end = () => gone.abort();
    left.addEventListener('abort', end);
    holder.ended.addEventListener('abort', end);
    if (left.aborted || holder.ended.aborted) end();
    try {
      response.writeHead(200, headersOf(headers));
      // No blank line follows it, nor a ping: to some clients that is an event without anything in it.
      response.write('retry: 1000\n');
      using _ping = this.#given.clock.every(PING_MS, () => {
        // A reader that is behind has its sign of life in what is waiting for it.
        if (!response.writableNeedDrain) response.write(`: ping ${this.#given.feed.latestSeq}\n`);
      });
      for await (const ready of frames(gone.signal, this.#ending.signal)) {
        if (response.write(ready)) continue;
        using _cut = this.#given.clock.after(STALLED_MS, () => response.destroy());
        await once(response, 'drain', { signal: gone.signal }).catch(() => undefined);
      }
    } finally {
      left.removeEventListener('abort', end);
      holder.ended.removeEventListener('abort', end);
    }
    await this.#close(response, left, holder.ended.aborted ? LAST_WORDS_MS : STALLED_MS);
  }

  /** Resolves when the client has all that was written, or was cut, since it had not taken it within `ms`. */
  async #close(response: ServerResponse, left: AbortSignal, ms: number): Promise<void> {
    response.end();
    if (left.aborted) return;
    using _cut = this.#given.clock.after(ms, () => response.destroy());
    await once(left, 'abort');
  }
}

function headersOf(own: Record<string, string>): Record<string, string> {
  return {
    ...own,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  };
}

/** The events of a scope after `after`, stored ones first, then live ones. */
export function eventFrames(feed: Feed, scope: Scope, after: number): Frames {
  return async function* (gone, ending) {
    if (after > feed.latestSeq) yield gapFrame(after, feed.trimmedSeq(scope), feed.latestSeq);
    let cursor = after;
    for await (const { entries, trimmed } of feed.follow(scope, after, gone, ending)) {
      if (trimmed !== null) yield gapFrame(cursor, trimmed, feed.latestSeq);
      cursor = entries.at(-1)?.seq ?? cursor;
      yield Buffer.concat(entries.map(frameOf));
    }
  };
}

/**
 * Says that what follows the cursor is not whole: retention took some of it, or the cursor is beyond everything
 * there is (of another log, or one that a power loss cut short).
 */
function gapFrame(requested: number, trimmed_seq: number, latest_seq: number): string {
  return `event: stream.gap\ndata: ${JSON.stringify({ requested, trimmed_seq, latest_seq })}\n\n`;
}

/** Followers at the head share an entry, and so its frame. */
const frames = new WeakMap<LogEntry, Buffer>();

function frameOf(entry: LogEntry): Buffer {
  let frame = frames.get(entry);
  if (!frame) {
    frame = Buffer.from(`id: ${entry.seq}\nevent: ${entry.kind}\ndata: ${entry.text}\n\n`);
    frames.set(entry, frame);
  }
  return frame;
}
