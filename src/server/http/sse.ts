import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { RESTARTING } from '../../api/event-scopes.ts';
import type { Scope } from '../../core/events/event.ts';
import type { Feed } from '../../core/events/feed.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { TokenHolder } from '../../core/access/tokens.ts';
import { StreamLimits, type StreamSettings } from './stream-limits.ts';

/** The time between two pings (interface 9.5). */
const PING_MS = 10_000;
/** A client that reads nothing for this long while data waits is disconnected; it reconnects with its last id. */
const STALLED_MS = 10 * 60_000;
/** The time limit for a stream that is being ended to send its remaining data, in milliseconds. */
const LAST_WORDS_MS = 2000;

/** Batches of frames, in order. `signal` aborts when nobody reads any more, `ending` when the server stops. */
export type Frames = (signal: AbortSignal, ending: AbortSignal) => AsyncIterable<Buffer | string>;

/** A request whose response is a stream of frames. */
interface StreamRequest {
  response: ServerResponse;
  /** Aborts when the client disconnects; it may have aborted already. */
  disconnected: AbortSignal;
  holder: TokenHolder;
  headers: Record<string, string>;
}

interface EventStreamsDependencies {
  feed: Feed;
  clock: Clock;
  limits: () => StreamSettings;
}

export class EventStreams {
  readonly #deps: EventStreamsDependencies;
  readonly #limits: StreamLimits;
  readonly #ending = new AbortController();
  readonly #open = new Set<Promise<void>>();
  readonly #sockets = new Set<ServerResponse>();
  #lastComment = '';

  constructor(deps: EventStreamsDependencies) {
    this.#deps = deps;
    this.#limits = new StreamLimits(deps.limits);
  }

  /** Aborts when the server stops, after its processes have ended or were left to the next server. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Throws `too_many` if the holder of a token may not open another stream. */
  assertRoom(holder: TokenHolder): void {
    this.#limits.assertRoom(holder);
  }

  /**
   * Responds with frames as they come, until they end, the client disconnects or its token is no longer valid. Does
   * nothing if the client has already disconnected.
   */
  serve(request: StreamRequest, frames: Frames): void {
    const { response, disconnected, holder } = request;
    if (disconnected.aborted) return;
    const served = this.#serve(request, frames).catch(() => {
      // A stream that has begun cannot carry an error; the client reconnects with its last id.
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

  /** Responds to HEAD with the headers of the stream, without opening it. */
  serveHead({ response, headers }: Pick<StreamRequest, 'response' | 'headers'>): void {
    response.writeHead(200, headersOf(headers));
    response.end();
  }

  /**
   * Sends each stream its remaining events and ends it; a client that does not read is disconnected after a while. `isRestart`: each
   * stream ends with a comment that says so.
   */
  async end(isRestart: boolean): Promise<void> {
    if (isRestart) this.#lastComment = `: ${RESTARTING}\n`;
    this.#ending.abort();
    using _cut = this.#deps.clock.after(LAST_WORDS_MS, () => {
      for (const response of this.#sockets) response.destroy();
    });
    await Promise.all(this.#open);
  }

  async #serve(
    { response, disconnected, holder, headers }: StreamRequest,
    frames: Frames,
  ): Promise<void> {
    const stopping = new AbortController();
    const end = () => stopping.abort();
    disconnected.addEventListener('abort', end);
    holder.ended.addEventListener('abort', end);
    if (disconnected.aborted || holder.ended.aborted) end();
    try {
      response.writeHead(200, headersOf(headers));
      // Neither a blank line nor a ping follows, because some clients would take that for an event without data.
      response.write('retry: 1000\n');
      using _ping = this.#deps.clock.every(PING_MS, () => {
        // Unread data of a client that is behind already shows that the connection lives.
        if (!response.writableNeedDrain) response.write(`: ping ${this.#deps.feed.latestSeq}\n`);
      });
      for await (const ready of frames(stopping.signal, this.#ending.signal)) {
        if (response.write(ready)) continue;
        using _cut = this.#deps.clock.after(STALLED_MS, () => response.destroy());
        await once(response, 'drain', { signal: stopping.signal }).catch(() => undefined);
      }
    } finally {
      disconnected.removeEventListener('abort', end);
      holder.ended.removeEventListener('abort', end);
      end();
    }
    await this.#close(response, disconnected, holder.ended.aborted ? LAST_WORDS_MS : STALLED_MS);
  }

  /** Resolves when the client has received everything, or was disconnected because it did not within `ms`. */
  async #close(response: ServerResponse, disconnected: AbortSignal, ms: number): Promise<void> {
    response.end(this.#lastComment);
    if (disconnected.aborted) return;
    using _cut = this.#deps.clock.after(ms, () => response.destroy());
    await once(disconnected, 'abort');
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

/** Returns frames of the events of a scope after `after`, first the stored ones, then the live ones. */
export function eventFrames(feed: Feed, scope: Scope, after: number): Frames {
  return async function* (signal, ending) {
    if (after > feed.latestSeq) yield gapFrame(after, feed.trimmedSeq(scope), feed.latestSeq);
    let cursor = after;
    for await (const { frames, last, trimmed } of feed.subscribe(scope, after, signal, ending)) {
      if (trimmed !== null) yield gapFrame(cursor, trimmed, feed.latestSeq);
      if (frames.length === 0) continue;
      cursor = last;
      yield frames;
    }
  };
}

/**
 * Returns a frame that reports missing events: retention has deleted some after the cursor, or the cursor is beyond the
 * newest event, because it belongs to another log or a power loss has cut this one short.
 */
function gapFrame(requested: number, trimmed_seq: number, latest_seq: number): string {
  return `event: stream.gap\ndata: ${JSON.stringify({ requested, trimmed_seq, latest_seq })}\n\n`;
}
