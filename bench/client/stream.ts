import { once } from 'node:events';
import http from 'node:http';
import type { Address } from './http.ts';

/** One event of a stream. */
export interface Frame {
  seq: number;
  kind: string;
  /** The record as JSON text. */
  data: string;
}

const PARTS = /^id: ?(\d+)\nevent: ?(.+)\ndata: ?(.*)$/s;
const EVENT_END = '\n\n';

/** An event stream of a server, which hands each event to `onFrame`. It does not reconnect. */
export class Stream {
  readonly #response: http.IncomingMessage;
  readonly #onFrame: (frame: Frame) => void;
  #rest = '';
  #waiting: Waiting | null = null;

  private constructor(response: http.IncomingMessage, onFrame: (frame: Frame) => void) {
    this.#response = response;
    this.#onFrame = onFrame;
    response.setEncoding('utf8').on('data', (text: string) => this.#take(text));
    response.once('error', () => undefined);
  }

  /** Opens the stream at a path such as `/v1/events/stream?after_seq=0`. Rejects if it is refused. */
  static async open(
    { url, token }: Address,
    path: string,
    onFrame: (frame: Frame) => void = () => undefined,
  ): Promise<Stream> {
    const headers = { authorization: `Bearer ${token}` };
    const request = http.get(`${url}${path}`, { agent: false, headers });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    if (response.statusCode !== 200)
      throw new Error(`the stream ${path} was refused with ${response.statusCode}`);
    return new Stream(response, onFrame);
  }

  /** Resolves with the next event from now on for which `until` is true, rejects if it throws. One caller at a time. */
  next(until: (frame: Frame) => boolean): Promise<Frame> {
    return new Promise((resolve, reject) => {
      this.#waiting = { until, resolve, reject };
    });
  }

  close(): void {
    this.#response.destroy();
  }

  #take(text: string): void {
    const all = this.#rest + text;
    let at = 0;
    for (let end = all.indexOf(EVENT_END); end >= 0; end = all.indexOf(EVENT_END, at)) {
      this.#frame(all.slice(at, end));
      at = end + EVENT_END.length;
    }
    this.#rest = all.slice(at);
  }

  #frame(lines: string): void {
    const [, seq, kind = '', data = ''] = PARTS.exec(withoutComments(lines)) ?? [];
    if (seq === undefined) return;
    const frame = { seq: Number(seq), kind, data };
    this.#onFrame(frame);
    try {
      if (!this.#waiting?.until(frame)) return;
      this.#waiting.resolve(frame);
    } catch (error) {
      this.#waiting?.reject(error as Error);
    }
    this.#waiting = null;
  }
}

interface Waiting {
  until: (frame: Frame) => boolean;
  resolve: (frame: Frame) => void;
  reject: (error: Error) => void;
}

/** Follows the global stream from now on. A server that does not know `latest` sends what it has first. */
export async function followNewest(
  server: Address,
  onFrame: (frame: Frame) => void,
): Promise<Stream> {
  const path = '/v1/events/stream?after_seq=';
  try {
    return await Stream.open(server, `${path}latest`, onFrame);
  } catch {
    return Stream.open(server, `${path}0`, onFrame);
  }
}

/** Whether an event says that a turn is over. Throws if the turn did not complete. */
export function endsTurn({ kind, data }: Frame): boolean {
  if (/^turn\.(failed|interrupted)$/.test(kind)) throw new Error(data);
  return kind === 'turn.completed';
}

/** A frame from its `id` on: pings and the `retry` of a stream stand before it. */
function withoutComments(lines: string): string {
  return lines.startsWith('id:') ? lines : lines.slice(lines.search(/^id:/m));
}
