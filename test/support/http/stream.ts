import { once } from 'node:events';
import http from 'node:http';
import type { RuntimeEventRecord, StreamGap } from '../../../src/api/events.ts';

/** An open stream. */
export interface Stream {
  headers: http.IncomingHttpHeaders;
  /** Returns all received text. */
  text: () => string;
  /** Returns the received records, in order. */
  events: () => RuntimeEventRecord[];
  seqs: () => number[];
  /** Returns the received gap frames, each with the seq of the record before it. */
  gaps: () => (StreamGap & { after: number })[];
  /** Resolves once `enough` is true, which is checked after each chunk; rejects if the stream ends first. */
  until: (enough: (stream: Stream) => boolean) => Promise<void>;
  /** Resolves once the record with a seq has arrived. */
  untilSeq: (seq: number) => Promise<void>;
  /** Resolves with the end of the stream: in order or cut off. */
  ended: Promise<'ended' | 'cut'>;
  /** Stops reading from the socket. */
  pause: () => void;
  resume: () => void;
  close: () => void;
}

export interface StreamOptions {
  path?: string;
  headers?: Record<string, string>;
  /** Whether not to read before `resume`. */
  paused?: boolean;
}

/** Opens a stream; rejects if the server refuses it. */
export async function openStream(
  { url, token }: { url: string; token: string },
  { path = '/v1/events/stream', headers = {}, paused = false }: StreamOptions = {},
): Promise<Stream> {
  const request = http.get(new URL(path, url), {
    agent: false,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  if (response.statusCode !== 200) {
    response.resume();
    throw new Error(`the stream was refused with ${response.statusCode}`);
  }
  const parts: string[] = [];
  let rest = '';
  const events: RuntimeEventRecord[] = [];
  const gaps: (StreamGap & { after: number })[] = [];
  const waiting = new Set<() => void>();
  const ended = Promise.withResolvers<'ended' | 'cut'>();
  let isOver = false;
  const over = (how: 'ended' | 'cut') => {
    isOver = true;
    ended.resolve(how);
    for (const look of waiting) look();
  };
  response.setEncoding('utf8');
  response.on('data', (part: string) => {
    parts.push(part);
    const frames = (rest + part).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames.map(withoutPrelude)) {
      // A frame without an id, such as the gap frame, is not an event.
      const data = /^id: \d+\n.*\ndata: ([^\n]*)/.exec(frame)?.[1];
      if (data !== undefined) events.push(JSON.parse(data) as RuntimeEventRecord);
      const gap = /^event: stream\.gap\ndata: ([^\n]*)$/.exec(frame)?.[1];
      if (gap !== undefined)
        gaps.push({ ...(JSON.parse(gap) as StreamGap), after: events.at(-1)?.seq ?? 0 });
    }
    for (const look of waiting) look();
  });
  response.once('end', () => over('ended'));
  response.once('error', () => over('cut'));
  response.once('close', () => over('cut'));
  if (paused) response.pause();

  const stream: Stream = {
    headers: response.headers,
    text: () => parts.join(''),
    events: () => events,
    seqs: () => events.map(({ seq }) => seq),
    gaps: () => gaps,
    until: (enough) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (enough(stream)) resolve();
          else if (isOver)
            reject(new Error(`the stream ended too early, after:\n${parts.slice(-2).join('')}`));
          else return;
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      }),
    untilSeq: (seq) => stream.until(() => (events.at(-1)?.seq ?? 0) >= seq),
    ended: ended.promise,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void request.destroy(),
  };
  return stream;
}

/** Removes the retry time and pings that may precede a frame in its block. */
function withoutPrelude(block: string): string {
  return block.replace(/^(?:retry: \d+\n|: [^\n]*\n)*/, '');
}
